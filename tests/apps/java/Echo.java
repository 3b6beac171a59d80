// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Roost authors

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Threads of a Java VM, each of which sends its messages over a connection of
 * its own, from memory of Java's, and looks at what comes back, while the VM
 * collects garbage and stops its threads by pages that it protects.
 *
 * usage: java Echo server|client ADDRESS PORT
 */
final class Echo {
    private static final int ENDS = 8;
    private static final int MESSAGES = 100;
    private static final int LENGTH = 3000;

    private static native long listen(String address, String port);
    private static native long accept(long listener, ByteBuffer buffer);
    private static native long connect(String address, String port,
                                       ByteBuffer buffer);
    private static native boolean send(long end);
    private static native boolean receive(long end);
    private static native boolean post(long end);
    private static native void close(long end);

    private static void check(boolean right, String what) {
        if (!right) {
            System.err.println(what);
            System.exit(1);
        }
    }

    private static void serve(long end, ByteBuffer buffer) {
        byte[] message = new byte[LENGTH];
        for (int i = 0; i < MESSAGES; i++) {
            check(receive(end), "receive");
            buffer.position(LENGTH).get(message);
            buffer.position(0).put(message);
            check(post(end), "post");
            check(send(end), "send");
        }
    }

    private static void ask(long end, ByteBuffer buffer) {
        Random random = new Random();
        byte[] read = new byte[LENGTH];
        for (int i = 0; i < MESSAGES; i++) {
            byte[] wanted = new byte[LENGTH];
            random.nextBytes(wanted);
            buffer.position(0).put(wanted);
            check(send(end), "send");
            check(receive(end), "receive");
            buffer.position(LENGTH).get(read);
            check(java.util.Arrays.equals(read, wanted),
                  "another message came back");
            check(post(end), "post");
            if (i % 10 == 0)
                System.gc();
        }
    }

    /** The VM makes an exception of the signal of a null pointer. */
    private static void pointAtNothing() {
        String nothing = null;
        try {
            check(nothing.length() < 0, "null has a length");
        } catch (NullPointerException expected) {
            return;
        }
    }

    public static void main(String[] words) throws InterruptedException {
        System.load(System.getProperty("echo.library"));
        boolean serves = words[0].equals("server");
        long listener = 0;
        if (serves) {
            listener = listen(words[1], words[2]);
            check(listener != 0, "listen");
            System.out.println("listening");
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < ENDS; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(2 * LENGTH);
            long end = serves ? accept(listener, buffer)
                              : connect(words[1], words[2], buffer);
            check(end != 0, "connect");
            Thread thread = new Thread(() -> {
                for (int j = 0; j < 10000; j++)
                    pointAtNothing();
                if (serves)
                    serve(end, buffer);
                else
                    ask(end, buffer);
                close(end);
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.println(ENDS * MESSAGES + " messages");
    }
}
