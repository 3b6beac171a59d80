/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The native methods of Echo.java. */

#include <stdint.h>

#include <jni.h>

#include "echo_end.h"

static struct echo_end *end_of(jlong handle)
{
	return (struct echo_end *)(intptr_t)handle;
}

static jlong handle_of(struct echo_end *end)
{
	return (jlong)(intptr_t)end;
}

static size_t half(JNIEnv *env, jobject buffer)
{
	return (size_t)(*env)->GetDirectBufferCapacity(env, buffer) / 2;
}

JNIEXPORT jlong JNICALL Java_Echo_listen(JNIEnv *env, jclass class,
					 jstring address, jstring port)
{
	const char *a = (*env)->GetStringUTFChars(env, address, NULL);
	const char *p = (*env)->GetStringUTFChars(env, port, NULL);
	struct echo_end *end = echo_listen(a, p);

	(*env)->ReleaseStringUTFChars(env, address, a);
	(*env)->ReleaseStringUTFChars(env, port, p);
	return handle_of(end);
}

JNIEXPORT jlong JNICALL Java_Echo_accept(JNIEnv *env, jclass class,
					 jlong listener, jobject buffer)
{
	void *memory = (*env)->GetDirectBufferAddress(env, buffer);

	return handle_of(
		echo_accept(end_of(listener), memory, half(env, buffer)));
}

JNIEXPORT jlong JNICALL Java_Echo_connect(JNIEnv *env, jclass class,
					  jstring address, jstring port,
					  jobject buffer)
{
	const char *a = (*env)->GetStringUTFChars(env, address, NULL);
	const char *p = (*env)->GetStringUTFChars(env, port, NULL);
	void *memory = (*env)->GetDirectBufferAddress(env, buffer);
	struct echo_end *end = echo_connect(a, p, memory, half(env, buffer));

	(*env)->ReleaseStringUTFChars(env, address, a);
	(*env)->ReleaseStringUTFChars(env, port, p);
	return handle_of(end);
}

JNIEXPORT jboolean JNICALL Java_Echo_send(JNIEnv *env, jclass class, jlong end)
{
	return echo_send(end_of(end)) == 0;
}

JNIEXPORT jboolean JNICALL Java_Echo_receive(JNIEnv *env, jclass class,
					     jlong end)
{
	return echo_receive(end_of(end)) == 0;
}

JNIEXPORT jboolean JNICALL Java_Echo_post(JNIEnv *env, jclass class, jlong end)
{
	return echo_post(end_of(end)) == 0;
}

JNIEXPORT void JNICALL Java_Echo_close(JNIEnv *env, jclass class, jlong end)
{
	echo_close(end_of(end));
}

JNIEXPORT jboolean JNICALL Java_Echo_offer(JNIEnv *env, jclass class, jlong end,
					   jobject memory)
{
	return echo_offer(end_of(end),
			  (*env)->GetDirectBufferAddress(env, memory),
			  2 * half(env, memory)) == 0;
}

JNIEXPORT jboolean JNICALL Java_Echo_take(JNIEnv *env, jclass class, jlong end,
					  jobject copy)
{
	return echo_take(end_of(end), (*env)->GetDirectBufferAddress(env, copy),
			 2 * half(env, copy)) == 0;
}

JNIEXPORT jboolean JNICALL Java_Echo_fill(JNIEnv *env, jclass class, jlong end,
					  jint value)
{
	return echo_fill(end_of(end), value) == 0;
}

JNIEXPORT jboolean JNICALL Java_Echo_hide(JNIEnv *env, jclass class,
					  jobject memory, jint length)
{
	return echo_hide((*env)->GetDirectBufferAddress(env, memory),
			 (size_t)length) == 0;
}
