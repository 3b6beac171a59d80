// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Roost authors

// Command echo is a Go program with many goroutines, each of which sends its
// messages over a connection of its own and looks at what comes back, while the
// runtime collects garbage and interrupts its threads by signals.
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
	"sync"
	"unsafe"
)

const (
	ends     = 8
	messages = 100
	length   = 3000
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
			} else {
				ask(end, out, in)
			}
			C.echo_close(end)
			C.free(pointer)
		}()
	}
	group.Wait()
	fmt.Println(ends*messages, "messages")
}
