/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <linux/types.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include "tests/real/tour/tour.h"

static void mw__type_2_until_it_is_invalidated(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_mw *mw = ibv_alloc_mw(tour.pd, IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr bind = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = rkey,
			.bind_info = {
				.mr = tour.mr,
				.addr = (uintptr_t)tour.peer,
				.length = 64,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};
	struct ibv_sge into = tour_sge(tour.peer + 128, 8);
	struct ibv_send_wr inval = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = rkey,
	};
	struct ibv_wc wc;

	(void)state;
	/* B binds, A writes, and takes the right away from itself */
	assert_int_equal(tour_done(p.b, &bind), IBV_WC_SUCCESS);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer + 56, rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(tour.peer + 56, "abcdefgh", 8);
	assert_int_equal(ibv_dereg_mr(tour.mr), EBUSY);
	tour_receive(p.b, &into);
	assert_int_equal(tour_done(p.a, &inval), IBV_WC_SUCCESS);
	wc = tour_completion(tour.rcq);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, rkey),
			 IBV_WC_REM_ACCESS_ERR);
	{
		struct ibv_async_event e = tour_event(IBV_EVENT_QP_ACCESS_ERR);

		assert_ptr_equal(e.element.qp, p.b);
		ibv_ack_async_event(&e);
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	tour_pair_part(p);
}

static void mw__outside_of_the_window(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_mw *mw = ibv_alloc_mw(tour.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = tour.mr,
			.addr = (uintptr_t)tour.peer,
			.length = 64,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};
	struct ibv_async_event e;
	uint32_t old;

	(void)state;
	assert_int_equal(ibv_bind_mw(p.b, mw, &bind), 0);
	assert_int_equal(tour_completion(tour.scq).opcode, IBV_WC_BIND_MW);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, mw->rkey),
			 IBV_WC_SUCCESS);
	/* bound anew: the old key is dead, the new one lives */
	old = mw->rkey;
	bind.bind_info.addr += 8;
	assert_int_equal(ibv_bind_mw(p.b, mw, &bind), 0);
	assert_int_equal(tour_completion(tour.scq).status, IBV_WC_SUCCESS);
	assert_int_not_equal(mw->rkey, old);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer + 8, mw->rkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, mw->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	e = tour_event(IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	tour_pair_part(p);
}

static void null_mr__zeros_and_a_bin(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_mr *null = ibv_alloc_null_mr(tour.pd);
	struct ibv_sge from = { 0x1234, 100, null->lkey };
	struct ibv_sge into = tour_sge(tour.peer, 100);
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	static const uint8_t zeros[100];

	(void)state;
	memset(tour.peer, 0xee, 100);
	tour_receive(p.b, &into);
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	assert_int_equal(tour_completion(tour.rcq).byte_len, 100);
	assert_memory_equal(tour.peer, zeros, 100);
	/* and the other way round: 3000 bytes into nowhere */
	from = tour_sge(tour.buf, 3000);
	into = (struct ibv_sge){ UINT64_MAX - 5000, 4000, null->lkey };
	tour_receive(p.b, &into);
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	assert_int_equal(tour_completion(tour.rcq).byte_len, 3000);
	assert_int_equal(ibv_dereg_mr(null), 0);
	tour_pair_part(p);
}

static void mr__zero_based_iova_and_rereg(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_mr *r = ibv_reg_mr(tour.pd, tour.peer, 64,
				      TOUR_ALL_ACCESS | IBV_ACCESS_ZERO_BASED);

	(void)state;
	assert_int_equal(tour_write8(p.a, 8, r->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(tour.peer + 8, "abcdefgh", 8);
	/* the same key, other memory */
	assert_int_equal(ibv_rereg_mr(r, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      tour.peer + 64, 64, 0),
			 0);
	assert_int_equal(tour_write8(p.a, 0, r->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(tour.peer + 64, "abcdefgh", 8);
	ibv_dereg_mr(r);
	r = ibv_reg_mr_iova(tour.pd, tour.peer, 64, 0x700000000001,
			    TOUR_ALL_ACCESS);
	memset(tour.peer, 0, 64);
	assert_int_equal(tour_write8(p.a, 0x700000000005, r->rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(tour.peer + 4, "abcdefgh", 8);
	ibv_dereg_mr(r);
	tour_pair_part(p);
}

static void mr__the_whole_address_space(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_mr *all =
		ibv_reg_mr(tour.pd, NULL, SIZE_MAX,
			   IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const char text[] = "text in read-only memory";
	struct ibv_sge from = { (uintptr_t)text, sizeof(text), 0 };
	struct ibv_sge into = tour_sge(tour.peer, 64);
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	struct ibv_sge advised = { (uintptr_t)gone, 4096, 0 };

	(void)state;
	assert_non_null(all);
	from.lkey = all->lkey;
	advised.lkey = all->lkey;
	tour_receive(p.b, &into);
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	tour_completion(tour.rcq);
	assert_string_equal((char *)tour.peer, text);
	assert_int_equal(ibv_advise_mr(tour.pd,
				       IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &advised, 1),
			 0);
	munmap(gone, 4096);
	assert_int_equal(ibv_advise_mr(tour.pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				       0, &advised, 1),
			 EFAULT);
	/* what is not there is an error, not a crash */
	from.addr = (uintptr_t)gone;
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_LOC_PROT_ERR);
	tour_pair_part(p);
	ibv_dereg_mr(all);
}

static void mr__not_there_is_efault(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *r;

	(void)state;
	munmap(page + 4096, 4096);
	errno = 0;
	assert_null(ibv_reg_mr(tour.pd, page, 8192, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mprotect(page, 4096, PROT_READ);
	errno = 0;
	assert_null(ibv_reg_mr(tour.pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	r = ibv_reg_mr(tour.pd, page, 4096, IBV_ACCESS_REMOTE_READ);
	assert_non_null(r);
	ibv_dereg_mr(r);
	munmap(page, 4096);
}

static void dm__is_written_by_the_peer(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(tour.context, &attr);
	struct ibv_mr *r =
		ibv_reg_dm_mr(tour.pd, dm, 1024, 1024,
			      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				      IBV_ACCESS_REMOTE_WRITE);
	char got[8];

	(void)state;
	assert_non_null(r);
	assert_int_equal(tour_write8(p.a, 16, r->rkey), IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 1040, 8), 0);
	assert_memory_equal(got, "abcdefgh", 8);
	ibv_dereg_mr(r);
	assert_int_equal(ibv_free_dm(dm), 0);
	tour_pair_part(p);
}

#define DMABUF_BYTES (4u * 4096)

/* As tests/test_shared_pd.py of rdma-core: in one process, and memory of any
 * kind.
 */
static void import__pd_and_mr_of_the_same_process(void **state)
{
	struct ibv_context *c = ibv_import_device(dup(tour.context->cmd_fd));
	struct tour home = tour;
	struct tour_pair p;
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	(void)state;
	assert_non_null(c);
	assert_null(ibv_import_pd(c, 0xffffff));
	assert_int_equal(errno, EINVAL);
	pd = ibv_import_pd(c, tour.pd->handle);
	assert_non_null(pd);
	assert_ptr_equal(pd->context, c);
	assert_null(ibv_import_mr(pd, tour.mr->handle + 1));
	mr = ibv_import_mr(pd, tour.mr->handle);
	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->rkey, tour.mr->rkey);
	assert_int_equal(mr->length, tour.mr->length);
	/* queues of the import, keys of the other */
	tour.context = c;
	tour.pd = pd;
	tour.mr = mr;
	tour.scq = ibv_create_cq(c, 16, NULL, NULL, 0);
	tour.rcq = ibv_create_cq(c, 16, NULL, NULL, 0);
	p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	assert_int_equal(tour_write8(p.a, (uintptr_t)tour.peer, mr->rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(tour.peer, "abcdefgh", 8);
	assert_int_equal(ibv_dealloc_pd(home.pd), EBUSY);
	/* before the QPs, as rdma-core's test does */
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	tour_pair_part(p);
	ibv_destroy_cq(tour.scq);
	ibv_destroy_cq(tour.rcq);
	assert_int_equal(ibv_close_device(c), 0);
	tour = home;
}

/* Of a memfd. Returns -1 where the kernel has none. */
static int udmabuf(int memfd)
{
	struct udmabuf_create create = { .memfd = (uint32_t)memfd,
					 .flags = UDMABUF_FLAGS_CLOEXEC,
					 .size = DMABUF_BYTES };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (device < 0)
		return -1;
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	fd = ioctl(device, UDMABUF_CREATE, &create);
	close(device);
	return fd;
}

/* As libdrm's drm.h and drm_mode.h have them. */
struct drm_create_dumb {
	__u32 height, width, bpp, flags, handle, pitch;
	__u64 size;
};
struct drm_prime {
	__u32 handle, flags;
	__s32 fd;
};
#define DRM_CREATE_DUMB _IOWR('d', 0xb2, struct drm_create_dumb)
#define DRM_HANDLE_TO_FD _IOWR('d', 0x2d, struct drm_prime)

/* Of a graphics card, such as the kernel's vgem. */
static int of_card(void)
{
	struct drm_create_dumb dumb = { .width = 1024,
					.height = DMABUF_BYTES / 4096,
					.bpp = 32 };
	struct drm_prime prime = { .flags = O_CLOEXEC | O_RDWR, .fd = -1 };
	int device = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);

	if (device < 0)
		return -1;
	if (ioctl(device, DRM_CREATE_DUMB, &dumb) == 0) {
		prime.handle = dumb.handle;
		if (ioctl(device, DRM_HANDLE_TO_FD, &prime))
			prime.fd = -1;
	}
	close(device);
	return prime.fd;
}

/* A dma-buf if the kernel has any, else the memory that one could be of. */
static int some_dmabuf(void)
{
	int memfd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int fd;

	assert_int_equal(ftruncate(memfd, DMABUF_BYTES), 0);
	fd = udmabuf(memfd);
	if (fd < 0)
		fd = of_card();
	print_message("%s\n", fd < 0 ? "a memfd" : "a dma-buf");
	if (fd < 0)
		return memfd;
	close(memfd);
	return fd;
}

static void dmabuf__is_read_and_written_by_the_peer(void **state)
{
	struct tour_pair p = tour_pair_connected(tour_init_attr(IBV_QPT_RC));
	const uint64_t iova = UINT64_C(0x700000000) + 4096 + 16;
	struct ibv_sge from, into = tour_sge(tour.peer, 8);
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };
	int fd = some_dmabuf();
	char *ours = mmap(NULL, DMABUF_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	struct ibv_async_event e;
	struct ibv_mr *r;

	(void)state;
	assert_ptr_not_equal(ours, MAP_FAILED);
	r = ibv_reg_dmabuf_mr(tour.pd, 4096 + 16, 2 * 4096, iova, fd,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(r);
	assert_int_equal((uintptr_t)r->addr, 4096 + 16);
	assert_int_equal(r->length, 2 * 4096);
	/* the region has its own hold of the memory */
	close(fd);
	assert_int_equal(tour_write8(p.a, iova + 4090, r->rkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(ours + 4096 + 16 + 4090, "abcdefgh", 8);
	memcpy(ours + 4096 + 16, "12345678", 8);
	from = (struct ibv_sge){ iova, 8, r->lkey };
	tour_receive(p.b, &into);
	assert_int_equal(tour_done(p.a, &wr), IBV_WC_SUCCESS);
	tour_completion(tour.rcq);
	assert_memory_equal(tour.peer, "12345678", 8);
	/* its end is the end */
	assert_int_equal(tour_write8(p.a, iova + 2 * 4096 - 7, r->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	e = tour_event(IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&e);
	assert_int_equal(ibv_dereg_mr(r), 0);
	munmap(ours, DMABUF_BYTES);
	tour_pair_part(p);
}

const struct CMUnitTest tour_memory[] = {
	TOUR_TEST(mw__type_2_until_it_is_invalidated),
	TOUR_TEST(mw__outside_of_the_window),
	TOUR_TEST(null_mr__zeros_and_a_bin),
	TOUR_TEST(mr__zero_based_iova_and_rereg),
	TOUR_TEST(mr__the_whole_address_space),
	TOUR_TEST(mr__not_there_is_efault),
	TOUR_TEST(dm__is_written_by_the_peer),
	TOUR_TEST(import__pd_and_mr_of_the_same_process),
	TOUR_TEST(dmabuf__is_read_and_written_by_the_peer),
	{ 0 },
};
