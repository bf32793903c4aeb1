# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# make only finds a Python: tests/sessions/start.py prepares the machine and starts nox, and noxfile.py says what a target does.

# demo and bench begin with a fresh cluster, so they have one of their own, unless a name is given.
ifeq ($(origin LAB),undefined)
demo: LAB = demo
bench: LAB = bench
endif

LAB ?= lab
K8S ?= 1.37
CONTROL_PLANES ?= 1
WORKERS ?= 2
export LAB K8S CONTROL_PLANES WORKERS VERSION CHECK

PYTHONS := python3 python3.14 python3.13 python3.12 python3.11

.PHONY: demo test test-first test-unit test-sanity test-lint test-lab test-docs test-faults test-bare lab-up lab-down bench ee release

demo test test-first test-unit test-sanity test-lint test-lab test-docs test-faults test-bare lab-up lab-down bench ee release:
	@for name in $(PYTHONS); do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then exec $$name -m tests.sessions.start $@; fi; \
	done; \
	echo 'Python 3.11 or newer is missing: install it first, on Debian and Ubuntu by apt-get install python3.' >&2; exit 2
