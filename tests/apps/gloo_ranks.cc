// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Roost authors
//
// Ranks of Gloo, which PyTorch's distributed training may use, over its
// transport for verbs: two kinds of allreduce, each sum looked at, barriers.
// Usage: gloo_ranks RANK RANKS FOLDER

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

// A buffer of Gloo may not be destroyed before its last SEND is complete, which
// Gloo does not wait for.
constexpr useconds_t lastSendUs = 300000;

template <typename Kind>
static bool sums(std::shared_ptr<gloo::Context> context, int count)
{
	const float ranks = (float)context->size;
	std::vector<float> data(count);
	std::vector<float *> pointers{ data.data() };

	for (int i = 0; i < count; i++)
		data[i] = (float)(context->rank * 3 + i % 1000);
	Kind kind(context, pointers, count);
	kind.run();
	usleep(lastSendUs);
	for (int i = 0; i < count; i++)
		if (data[i] != 3 * ranks * (ranks - 1) / 2 +
				       ranks * (float)(i % 1000))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	gloo::transport::ibverbs::attr attr{ "roost0", 1, 1 };
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	gloo::rendezvous::FileStore store(argv[3]);
	auto context = std::make_shared<gloo::rendezvous::Context>(
		atoi(argv[1]), atoi(argv[2]));

	context->connectFullMesh(store, device);
	for (int count : { 1, 100, 5000, 300000 })
		if (!sums<gloo::AllreduceRing<float>>(context, count) ||
		    !sums<gloo::AllreduceHalvingDoubling<float>>(context,
								  count)) {
			fprintf(stderr, "a sum of %d is wrong\n", count);
			return 1;
		}
	gloo::BarrierAllToAll barrier(context);
	for (int i = 0; i < 50; i++)
		barrier.run();
	usleep(lastSendUs);
	printf("all right\n");
	return 0;
}
