// SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// The etcd server, as its own release does it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
