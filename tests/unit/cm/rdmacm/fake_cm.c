/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The CM and the engine, as far as librdmacm calls them.
 */

#include "fake_world.h"

#include <roost/config.h>
#include "cm/serve.h"
#include "cm/watch.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/core/route.h"
#include <roost/roost.h>
#include "lib/face/shim.h"

struct roost_device {
	unsigned int index;
};

struct roost_dev {
	const char *addrs[4];
	bool failed;
	uint8_t mac_end;
};

struct roost_cm {
	struct roost_dev *dev;
	struct roost_cm_watch *watch;
};

static struct roost_device devices[2] = { { 0 }, { 1 } };
static struct roost_dev devs[2] = {
	{ .addrs = { "fe80::1", "198.18.0.1", "fd00::1" } },
	{ .addrs = { "198.18.1.1" } },
};
static struct roost_cm cms[2] = { { .dev = &devs[0] }, { .dev = &devs[1] } };

int roost_config_load(struct roost_config *c, char *err)
{
	(void)err;
	c->nb_ports = 2;
	return 0;
}

int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device)
{
	(void)config;
	*device = &devices[index];
	return 0;
}

void roost_device_close(struct roost_device *device)
{
	(void)device;
}

struct roost_dev *roost_device_dev(struct roost_device *device)
{
	return &devs[device->index];
}

uint64_t roost_device_attend(struct roost_device *device)
{
	fake.nb_attends[device->index]++;
	return 0;
}

void roost_cm_serve(struct roost_cm *cm, uint64_t now_ns)
{
	(void)cm;
	(void)now_ns;
	fail();
}

void roost_device_expect(struct roost_device *device)
{
	(void)device;
}

bool roost_dev_failed(const struct roost_dev *dev)
{
	return dev->failed;
}

void roost_dev_tell_unreached(struct roost_dev *dev, uint8_t port_num,
			      const struct roost_unreached *what)
{
	(void)dev;
	(void)port_num;
	(void)what;
}

int roost_port_query_qos(struct roost_dev *dev, uint8_t port_num,
			 struct roost_qos *qos)
{
	(void)dev;
	(void)port_num;
	roost_qos_init(qos);
	qos->default_roce_tos = fake.default_roce_tos;
	return 0;
}

unsigned int roost_dev_nb_ports(const struct roost_dev *dev)
{
	(void)dev;
	return 1;
}

int roost_port_query_gid(struct roost_dev *dev, uint8_t port_num,
			 unsigned int index, struct roost_gid *gid)
{
	struct sockaddr_storage addr;

	(void)port_num;
	memset(gid, 0, sizeof(*gid));
	if (index >= 4 || !dev->addrs[index])
		return 0;
	addr = addr_of(dev->addrs[index], 0);
	if (addr.ss_family == AF_INET)
		*gid = roost_gid_from_v4(
			(uint8_t *)&((struct sockaddr_in *)&addr)->sin_addr);
	else
		memcpy(gid->b, &((struct sockaddr_in6 *)&addr)->sin6_addr, 16);
	return 0;
}

int roost_port_query_mac(struct roost_dev *dev, uint8_t port_num,
			 uint8_t mac[6])
{
	(void)port_num;
	memset(mac, 0, 6);
	mac[5] = dev->mac_end;
	return 0;
}

int roost_cm_get(struct roost_dev *dev, struct roost_cm **cm)
{
	*cm = &cms[dev - devs];
	return 0;
}

void roost_cm_watch_add(struct roost_cm *cm, struct roost_cm_watch *watch)
{
	cm->watch = watch;
}

void fake_remove(unsigned int device)
{
	struct roost_cm_watch *watch = cms[device].watch;

	devs[device].failed = true;
	watch->told(watch->arg, ROOST_CM_NEWS_REMOVED);
}

void fake_readdress(unsigned int device, unsigned int index, const char *addr)
{
	struct roost_cm_watch *watch = cms[device].watch;

	devs[device].addrs[index] = addr;
	watch->told(watch->arg, ROOST_CM_NEWS_ADDRS);
}

void fake_move(unsigned int device, uint8_t mac_end)
{
	struct roost_cm_watch *watch = cms[device].watch;

	devs[device].mac_end = mac_end;
	watch->told(watch->arg, ROOST_CM_NEWS_ADDRS);
}

int roost_dev_claim(const struct roost_dev *dev,
		    const struct roost_service_claim *service)
{
	const unsigned int number = (unsigned int)(dev - devs);

	if (fake.claim_rc && fake.claim_of == number)
		return fake.claim_rc;
	assert_true(fake.nb_claims[number] < 64);
	fake.claims[number][fake.nb_claims[number]++] = *service;
	fake.claimed = *service;
	return 0;
}

static bool is_same(const struct roost_service_claim *a,
		    const struct roost_service_claim *b)
{
	return a->id == b->id && roost_gid_eq(&a->addr, &b->addr) &&
	       a->family == b->family && a->listens == b->listens &&
	       a->reuseaddr == b->reuseaddr && a->afonly == b->afonly;
}

void roost_dev_release(const struct roost_dev *dev,
		       const struct roost_service_claim *service)
{
	struct roost_service_claim *held = fake.claims[dev - devs];
	unsigned int *nb = &fake.nb_claims[dev - devs];
	unsigned int i = 0;

	while (i < *nb && !is_same(&held[i], service))
		i++;
	assert_true(i < *nb);
	held[i] = held[--*nb];
}

/* Own addresses, and those of the same /24. */
int roost_cm_route(struct roost_cm *cm, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_cm_path *path)
{
	struct roost_gid own;

	if (cm->dev->failed)
		return -ENETUNREACH;
	for (unsigned int i = 0; i < 4; i++) {
		roost_port_query_gid(cm->dev, 1, i, &own);
		if (roost_gid_is_zero(&own) ||
		    memcmp(own.b, dgid->b, 15) != 0 ||
		    (sgid && !roost_gid_eq(sgid, &own)))
			continue;
		*path = (struct roost_cm_path){
			.sgid = own,
			.dgid = *dgid,
			.port_num = 1,
			.sgid_index = (uint8_t)i,
			.pkey = 0xffff,
			.hop_limit = 64,
			.packet_lifetime = 18,
			.mtu = ROOST_MTU_1024,
		};
		return 0;
	}
	return -EHOSTUNREACH;
}

int roost_cm_conn_create(struct roost_cm *cm, roost_cm_callback *callback,
			 void *arg, struct roost_cm_conn **conn)
{
	*conn = &fake.conns[fake.nb_conns++];
	**conn = (struct roost_cm_conn){
		.cm = cm,
		.callback = callback,
		.arg = arg,
		.alive = true,
		.resolve_timeout_ms = UINT32_MAX,
	};
	return 0;
}

void roost_cm_conn_destroy(struct roost_cm_conn *conn)
{
	assert_true(conn->alive);
	conn->alive = false;
}

void roost_cm_conn_set_owner(struct roost_cm_conn *conn,
			     roost_cm_callback *callback, void *arg)
{
	conn->callback = callback;
	conn->arg = arg;
}

bool roost_cm_conn_path(struct roost_cm_conn *conn, struct roost_cm_path *path)
{
	*path = conn->path;
	return true;
}

int roost_cm_resolve_now(struct roost_cm_conn *conn,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid, uint32_t timeout_ms)
{
	int ret = roost_cm_route(conn->cm, sgid, dgid, &conn->path);

	conn->resolve_timeout_ms = timeout_ms;
	return ret == 0 && fake.hop_is_known ? 1 : ret;
}

static void keep(struct roost_cm_conn *conn, const void *data, size_t len)
{
	assert_true(len <= sizeof(conn->data));
	if (len)
		memcpy(conn->data, data, len);
	conn->data_len_bytes = len;
}

int roost_cm_connect(struct roost_cm_conn *conn,
		     const struct roost_cm_req_param *param)
{
	conn->nb_connects++;
	conn->req = *param;
	conn->ip = *param->ip;
	keep(conn, param->data, param->data_len_bytes);
	return fake.connect_rc;
}

int roost_cm_accept(struct roost_cm_conn *conn,
		    const struct roost_cm_rep_param *param)
{
	conn->nb_accepts++;
	conn->rep = *param;
	keep(conn, param->data, param->data_len_bytes);
	return fake.accept_rc;
}

int roost_cm_establish(struct roost_cm_conn *conn, const void *data,
		       size_t data_len_bytes)
{
	conn->nb_establishes++;
	keep(conn, data, data_len_bytes);
	return 0;
}

int roost_cm_conn_comm_est(struct roost_cm_conn *conn)
{
	conn->nb_comm_ests++;
	return 0;
}

int roost_cm_reject(struct roost_cm_conn *conn, uint16_t reason,
		    const void *info, size_t info_len_bytes, const void *data,
		    size_t data_len_bytes)
{
	assert_null(info);
	assert_int_equal(info_len_bytes, 0);
	conn->nb_rejects++;
	conn->reject_reason = reason;
	keep(conn, data, data_len_bytes);
	return 0;
}

int roost_cm_apr(struct roost_cm_conn *conn, uint8_t status, const void *info,
		 size_t info_len_bytes, const void *data, size_t data_len_bytes)
{
	assert_null(info);
	assert_int_equal(info_len_bytes, 0);
	conn->nb_aprs++;
	conn->apr_status = status;
	keep(conn, data, data_len_bytes);
	return 0;
}

int roost_cm_disconnect(struct roost_cm_conn *conn, const void *data,
			size_t data_len_bytes)
{
	conn->nb_disconnects++;
	keep(conn, data, data_len_bytes);
	return 0;
}

int roost_cm_conn_qp_attr(struct roost_cm_conn *conn, enum roost_qp_state to,
			  struct roost_qp_attr *attr, uint32_t *mask)
{
	assert_true(conn->alive);
	assert_int_equal(attr->state, to);
	attr->port_num = 1;
	*mask = ROOST_QP_STATE;
	if (to == ROOST_QPS_RTR) {
		attr->max_dest_rd_atomic = 11;
		*mask |= ROOST_QP_MAX_DEST_RD_ATOMIC;
	} else if (to == ROOST_QPS_RTS) {
		attr->max_rd_atomic = 12;
		attr->timeout = 19;
		*mask |= ROOST_QP_MAX_QP_RD_ATOMIC | ROOST_QP_TIMEOUT;
	}
	return 0;
}

int roost_cm_sidr_request(struct roost_cm_conn *conn,
			  const struct roost_cm_sidr_req_param *param)
{
	conn->nb_sidr_requests++;
	conn->service_id = param->service_id;
	conn->ip = *param->ip;
	keep(conn, param->data, param->data_len_bytes);
	return 0;
}

int roost_cm_sidr_reply(struct roost_cm_conn *conn,
			const struct roost_cm_sidr_rep_param *param)
{
	conn->nb_sidr_replies++;
	conn->sidr_rep = *param;
	keep(conn, param->data, param->data_len_bytes);
	return 0;
}

int roost_cm_listen(struct roost_cm *cm,
		    const struct roost_cm_listen_param *param,
		    roost_cm_callback *callback, void *arg,
		    struct roost_cm_listener **listener)
{
	*listener = &fake.listeners[fake.nb_listeners++];
	**listener = (struct roost_cm_listener){
		.cm = cm,
		.callback = callback,
		.arg = arg,
		.alive = true,
		.param = *param,
	};
	return 0;
}

void roost_cm_listener_destroy(struct roost_cm_listener *listener)
{
	assert_true(listener->alive);
	listener->alive = false;
}

void roost_cm_conn_fetched(struct roost_cm_conn *conn)
{
	assert_true(conn->alive);
	conn->fetched = true;
}
