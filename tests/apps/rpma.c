/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A pair of librpma: remote memory is written, flushed, changed by an atomic
 * WRITE, and read again; the other end looks at it, too.
 * Usage: rpma server|client ADDRESS PORT
 */

#include <librpma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEM_BYTES (1u << 20)
#define WORD "atomic!!"
#define WORD_BYTES (sizeof(WORD) - 1)
#define USAGE                                                                  \
	(RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_WRITE_SRC |                   \
	 RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_READ_SRC |                     \
	 RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY)

static void check(int ret, const char *what)
{
	if (ret == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, rpma_err_2str(ret));
	exit(1);
}

static struct rpma_peer *peer;
static struct rpma_conn *conn;

static struct rpma_mr_local *region(uint8_t *mem)
{
	struct rpma_mr_local *mr;

	check(rpma_mr_reg(peer, mem, MEM_BYTES, USAGE, &mr), "region");
	return mr;
}

static uint8_t byte_at(size_t i)
{
	return i < WORD_BYTES ? (uint8_t)WORD[i] : (uint8_t)(i * 7 + i / 999);
}

static void look(const uint8_t *mem)
{
	for (size_t i = 0; i < MEM_BYTES; i++) {
		if (mem[i] == byte_at(i))
			continue;
		fprintf(stderr, "byte %zu is wrong\n", i);
		exit(1);
	}
}

static void expect(enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	check(rpma_conn_next_event(conn, &event), "event");
	if (event == wanted)
		return;
	fprintf(stderr, "event %s\n", rpma_utils_conn_event_2str(event));
	exit(1);
}

static void complete(void)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	check(rpma_conn_get_cq(conn, &cq), "queue");
	check(rpma_cq_wait(cq), "wait");
	check(rpma_cq_get_wc(cq, 1, &wc, NULL), "completion");
	if (wc.status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "status %d\n", wc.status);
	exit(1);
}

static void serve(const char *address, const char *port, uint8_t *mem)
{
	struct rpma_mr_local *mr = region(mem);
	struct rpma_conn_req *request;
	struct rpma_ep *end;
	uint8_t text[UINT8_MAX];
	size_t len;

	check(rpma_mr_get_descriptor_size(mr, &len), "size");
	check(rpma_mr_get_descriptor(mr, text), "descriptor");
	check(rpma_ep_listen(peer, address, port, &end), "listen");
	fprintf(stderr, "listening\n");
	check(rpma_ep_next_conn_req(end, NULL, &request), "request");
	check(rpma_conn_req_connect(&request,
				    &(struct rpma_conn_private_data){
					    .ptr = text, .len = (uint8_t)len },
				    &conn),
	      "accept");
	expect(RPMA_CONN_ESTABLISHED);
	expect(RPMA_CONN_CLOSED);
	look(mem);
	check(rpma_conn_disconnect(conn), "disconnect");
	check(rpma_conn_delete(&conn), "delete");
	check(rpma_ep_shutdown(&end), "shutdown");
	check(rpma_mr_dereg(&mr), "deregister");
}

static void use(const char *address, const char *port, uint8_t *mem,
		uint8_t *back)
{
	struct rpma_mr_local *mr = region(mem), *to = region(back);
	struct rpma_conn_private_data data;
	struct rpma_conn_req *request;
	struct rpma_mr_remote *from;

	for (size_t i = WORD_BYTES; i < MEM_BYTES; i++)
		mem[i] = byte_at(i);
	check(rpma_conn_req_new(peer, address, port, NULL, &request), "new");
	check(rpma_conn_req_connect(&request, NULL, &conn), "connect");
	expect(RPMA_CONN_ESTABLISHED);
	check(rpma_conn_get_private_data(conn, &data), "data");
	check(rpma_mr_remote_from_descriptor(data.ptr, data.len, &from),
	      "remote");
	check(rpma_write(conn, from, 0, mr, 0, MEM_BYTES,
			 RPMA_F_COMPLETION_ON_ERROR, NULL),
	      "write");
	check(rpma_flush(conn, from, 0, MEM_BYTES, RPMA_FLUSH_TYPE_VISIBILITY,
			 RPMA_F_COMPLETION_ALWAYS, NULL),
	      "flush");
	complete();
	check(rpma_atomic_write(conn, from, 0, WORD, RPMA_F_COMPLETION_ALWAYS,
				NULL),
	      "atomic write");
	complete();
	check(rpma_read(conn, to, 0, from, 0, MEM_BYTES,
			RPMA_F_COMPLETION_ALWAYS, NULL),
	      "read");
	complete();
	look(back);
	check(rpma_conn_disconnect(conn), "disconnect");
	expect(RPMA_CONN_CLOSED);
	check(rpma_conn_delete(&conn), "delete");
	check(rpma_mr_dereg(&mr), "deregister");
	check(rpma_mr_dereg(&to), "deregister");
}

int main(int argc, char **argv)
{
	const bool serves = argc == 4 && strcmp(argv[1], "server") == 0;
	struct ibv_context *context;
	uint8_t *mem = mmap(NULL, 2 * MEM_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc != 4 || mem == MAP_FAILED)
		return 2;
	check(rpma_utils_get_ibv_context(argv[2],
					 serves ? RPMA_UTIL_IBV_CONTEXT_LOCAL
						: RPMA_UTIL_IBV_CONTEXT_REMOTE,
					 &context),
	      "device");
	check(rpma_peer_new(context, &peer), "peer");
	if (serves)
		serve(argv[2], argv[3], mem);
	else
		use(argv[2], argv[3], mem, mem + MEM_BYTES);
	check(rpma_peer_delete(&peer), "peer");
	printf("all right\n");
	return 0;
}
