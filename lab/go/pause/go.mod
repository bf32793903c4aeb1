// SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
// SPDX-License-Identifier: GPL-3.0-or-later
module lab.local/pause

go 1.22
