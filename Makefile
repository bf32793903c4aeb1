# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later

# make only starts nox, in a venv of its own; what a target does stands in noxfile.py.

LAB ?= lab
K8S ?= 1.36
CONTROL_PLANES ?= 1
WORKERS ?= 2
export LAB K8S CONTROL_PLANES WORKERS

VENV := build/nox
READY := $(VENV)/ready
NOX := $(VENV)/bin/nox
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11

.PHONY: demo test test-unit test-sanity test-lint test-lab test-faults test-bare lab-up lab-down bench

# Both begin with a fresh cluster, so they have one of their own. The demo switches on what Kubernetes 1.32 has off.
demo: LAB = demo
demo: K8S = 1.32
bench: LAB = bench

SESSION = $(subst -,_,$@)
test-unit: SESSION = unit plays_whole device_plugin
test-sanity: SESSION = sanity
test-faults: SESSION = test_faults
test-bare: SESSION = test_bare

demo test test-unit test-sanity test-lint test-lab test-faults test-bare lab-up lab-down bench: $(READY)
	@$(NOX) --session $(SESSION)

$(READY): tests/constraints.txt
	@set -e; \
	for name in $(PYTHONS); do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo 'Python 3.11 or newer is needed; on Debian and Ubuntu: apt-get install python3 python3-venv' >&2; exit 1; fi; \
	if ! $$python -c 'import ensurepip' 2>/dev/null; then \
	  package=$$($$python -c 'import sys; print("python3.%d-venv" % sys.version_info[1])'); \
	  if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then echo "$$python cannot make a venv; please install $$package" >&2; exit 1; fi; \
	  apt-get --quiet update; DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes install --no-install-recommends $$package; \
	fi; \
	rm -rf $(VENV); $$python -m venv $(VENV); \
	$(VENV)/bin/python -m pip --quiet --disable-pip-version-check install --constraint $< antsibull-nox nox uv; \
	touch $@
