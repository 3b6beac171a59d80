// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Roost authors

// Command echo is a Go program with many goroutines, each of which sends its
// messages over a connection of its own and looks at what comes back, while the
// runtime collects garbage and interrupts its threads by signals. Then the
// clients WRITE and READ memory of the server that goes away, and the server's
// own faults are still those of Go.
//
// usage: echo server|client ADDRESS PORT
package main

// #include <stdlib.h>
// #include "echo_end.h"
import "C"

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"
)

const (
	ends     = 8
	messages = 100
	length   = 3000
	memory   = 1 << 16
)

func check(err bool, what string) {
	if err {
		fmt.Fprintln(os.Stderr, what)
		os.Exit(1)
	}
}

// A buffer of C's, as cgo wants it for what C keeps: what is sent, and what is
// received.
func buffer() (unsafe.Pointer, []byte, []byte) {
	pointer := C.calloc(2, length)
	check(pointer == nil, "calloc")
	all := unsafe.Slice((*byte)(pointer), 2*length)
	return pointer, all[:length], all[length:]
}

func serve(end *C.struct_echo_end, out, in []byte) {
	for i := 0; i < messages; i++ {
		check(C.echo_receive(end) != 0, "receive")
		copy(out, in)
		check(C.echo_post(end) != 0, "post")
		check(C.echo_send(end) != 0, "send")
	}
}

func ask(end *C.struct_echo_end, out, in []byte) {
	for i := 0; i < messages; i++ {
		wanted := make([]byte, length)
		rand.Read(wanted)
		copy(out, wanted)
		check(C.echo_send(end) != 0, "send")
		check(C.echo_receive(end) != 0, "receive")
		check(!bytes.Equal(in, wanted), "another message came back")
		check(C.echo_post(end) != 0, "post")
		if i%10 == 0 {
			runtime.GC()
		}
	}
}

// All of these bytes have the same value.
func expect(at []byte, value byte) {
	for _, found := range at {
		check(found != value, "another byte")
	}
}

// Go makes a panic of the fault.
func expectFault(at []byte) {
	defer func() { check(recover() == nil, "no fault") }()
	check(at[0] == 1, "a byte")
}

// A file's memory, of which the second half ends, and then the first quarter.
func lose(end *C.struct_echo_end) {
	file, err := os.CreateTemp("", "echo")
	check(err != nil, "a file")
	defer os.Remove(file.Name())
	check(file.Truncate(memory) != nil, "truncate")
	at, err := syscall.Mmap(int(file.Fd()), 0, memory,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	check(err != nil, "mmap")
	check(C.echo_offer(end, unsafe.Pointer(&at[0]), memory) != 0, "offer")
	check(C.echo_receive(end) != 0 || C.echo_post(end) != 0, "filled")
	expect(at, 1)
	check(file.Truncate(memory/2) != nil, "truncate")
	check(syscall.Mprotect(at[:memory/4], syscall.PROT_NONE) != nil,
		"mprotect")
	debug.SetPanicOnFault(true)
	expectFault(at)
	expectFault(at[memory/2:])
	check(C.echo_send(end) != 0, "lost")
	check(C.echo_receive(end) != 0 || C.echo_post(end) != 0, "filled")
	expect(at[memory/4:memory/2], 2)
	expectFault(at)
	expectFault(at[memory/2:])
}

func fill(end *C.struct_echo_end) {
	pointer := C.malloc(memory)
	check(pointer == nil, "malloc")
	copied := unsafe.Slice((*byte)(pointer), memory)
	check(C.echo_take(end, pointer, memory) != 0, "take")
	check(C.echo_fill(end, 1) != 0, "fill")
	expect(copied, 1)
	check(C.echo_send(end) != 0, "filled")
	check(C.echo_receive(end) != 0 || C.echo_post(end) != 0, "lost")
	check(C.echo_fill(end, 2) != 0, "fill")
	expect(copied[:memory/4], 0)
	expect(copied[memory/4:memory/2], 2)
	expect(copied[memory/2:], 0)
	check(C.echo_send(end) != 0, "filled")
}

func main() {
	check(len(os.Args) != 4, "usage: echo server|client ADDRESS PORT")
	address, port := C.CString(os.Args[2]), C.CString(os.Args[3])
	serves := os.Args[1] == "server"
	var listener *C.struct_echo_end
	if serves {
		listener = C.echo_listen(address, port)
		check(listener == nil, "listen")
		fmt.Println("listening")
	}
	var group sync.WaitGroup
	for i := 0; i < ends; i++ {
		pointer, out, in := buffer()
		var end *C.struct_echo_end
		if serves {
			end = C.echo_accept(listener, pointer, length)
		} else {
			end = C.echo_connect(address, port, pointer, length)
		}
		check(end == nil, "connect")
		group.Add(1)
		go func() {
			defer group.Done()
			if serves {
				serve(end, out, in)
				lose(end)
			} else {
				ask(end, out, in)
				fill(end)
			}
			C.echo_close(end)
			C.free(pointer)
		}()
	}
	group.Wait()
	fmt.Println(ends*messages, "messages")
}
