// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Roost authors

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Threads of a Java VM, each of which sends its messages over a connection of
 * its own, from memory of Java's, and looks at what comes back, while the VM
 * collects garbage and stops its threads by pages that it protects. Then the
 * clients WRITE and READ memory of the server that goes away, and the server's
 * own faults are still those of Java.
 *
 * usage: java Echo server|client ADDRESS PORT
 */
final class Echo {
    private static final int ENDS = 8;
    private static final int MESSAGES = 100;
    private static final int LENGTH = 3000;
    private static final int MEMORY = 1 << 16;

    private static native long listen(String address, String port);
    private static native long accept(long listener, ByteBuffer buffer);
    private static native long connect(String address, String port,
                                       ByteBuffer buffer);
    private static native boolean send(long end);
    private static native boolean receive(long end);
    private static native boolean post(long end);
    private static native void close(long end);
    private static native boolean offer(long end, ByteBuffer memory);
    private static native boolean take(long end, ByteBuffer copy);
    private static native boolean fill(long end, int value);
    private static native boolean hide(ByteBuffer memory, int length);

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

    /** All of these bytes have the same value. */
    private static void expect(ByteBuffer at, int from, int to, int value) {
        for (int i = from; i < to; i++)
            check(at.get(i) == value, "another byte");
    }

    /** The VM makes an error of SIGBUS. */
    private static void expectFault(ByteBuffer at, int from) {
        try {
            expect(at, from, from + 1, 0x55);
        } catch (InternalError expected) {
            return;
        }
        check(false, "no fault");
    }

    /** A file's memory: the second half ends, and then the first quarter. */
    private static void lose(long end) throws IOException {
        File file = File.createTempFile("echo", null);
        try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
            open.setLength(MEMORY);
            MappedByteBuffer at = open.getChannel().map(
                FileChannel.MapMode.READ_WRITE, 0, MEMORY);
            check(offer(end, at), "offer");
            check(receive(end) && post(end), "filled");
            expect(at, 0, MEMORY, 1);
            try (RandomAccessFile shorter = new RandomAccessFile(file, "rw")) {
                shorter.setLength(MEMORY / 2);
            }
            check(hide(at, MEMORY / 4), "hide");
            expectFault(at, MEMORY / 2);
            check(send(end), "lost");
            check(receive(end) && post(end), "filled");
            expect(at, MEMORY / 4, MEMORY / 2, 2);
            expectFault(at, MEMORY / 2);
            close(end);
        } finally {
            file.delete();
        }
    }

    private static void fill(long end) {
        ByteBuffer copy = ByteBuffer.allocateDirect(MEMORY);
        check(take(end, copy), "take");
        check(fill(end, 1), "fill");
        expect(copy, 0, MEMORY, 1);
        check(send(end), "filled");
        check(receive(end) && post(end), "lost");
        check(fill(end, 2), "fill");
        expect(copy, 0, MEMORY / 4, 0);
        expect(copy, MEMORY / 4, MEMORY / 2, 2);
        expect(copy, MEMORY / 2, MEMORY, 0);
        check(send(end), "filled");
        close(end);
    }

    private static void play(long end, ByteBuffer buffer, boolean serves) {
        for (int i = 0; i < 10000; i++)
            pointAtNothing();
        try {
            if (serves) {
                serve(end, buffer);
                lose(end);
            } else {
                ask(end, buffer);
                fill(end);
            }
        } catch (IOException e) {
            check(false, e.toString());
        }
        for (int i = 0; i < 10000; i++)
            pointAtNothing();
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
            Thread thread = new Thread(() -> play(end, buffer, serves));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.println(ENDS * MESSAGES + " messages");
    }
}
