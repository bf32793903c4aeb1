# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of two guards as the API gets them: as they were proven on Kubernetes 1.36."""

SMALL = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: guard
  labels:
    app.kubernetes.io/managed-by: nodecraft.kubeadm
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector:
      matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values:
        - kube-system
    resourceRules:
    - apiGroups:
      - ''
      apiVersions:
      - v1
      operations:
      - CREATE
      resources:
      - pods
      - pods/binding
      - bindings
  matchConditions:
  - name: by-no-scheduler
    expression: object.kind != "Binding" || !(request.userInfo.username in ["system:kube-scheduler"])
  - name: no-static-pod
    expression: |-
      !("system:nodes" in request.userInfo.?groups.orValue([])
        && "kubernetes.io/config.mirror" in object.metadata.?annotations.orValue({}))
  - name: chooses-a-place
    expression: object.kind == "Binding" || has(dyn(object).spec.nodeName)
  variables:
  - name: revision
    expression: '"00000000"'
  - name: nodes
    expression: |-
      [
        "w1",
        "w2"
      ]
  - name: resources
    expression: |-
      [
        "example.com/dongle"
      ]
  - name: target
    expression: 'object.kind == "Binding" ? dyn(object).target.name : dyn(object).spec.?nodeName.orValue("")'
  - name: requests
    expression: |-
      (dyn(object).spec.containers + dyn(object).spec.?initContainers.orValue([])).exists(container,
        variables.resources.exists(resource,
          quantity(container.?resources.?requests[?resource].orValue("0")).isGreaterThan(quantity("0"))))
  - name: daemonSets
    expression: '[]'
  - name: ofDaemonSet
    expression: |-
      request.userInfo.username in ["system:serviceaccount:kube-system:daemon-set-controller", "system:kube-controller-manager"]
      && object.metadata.?ownerReferences.orValue([]).exists(owner,
        owner.kind == "DaemonSet" && request.namespace + "/" + owner.name in variables.daemonSets)
  - name: excepted
    expression: variables.ofDaemonSet
  validations:
  - expression: object.kind == "Binding" || !(variables.target in variables.nodes) || variables.requests || variables.excepted
    reason: Forbidden
    message: The pod names a protected node.
    messageExpression: >-
      "the pod names the node " + variables.target + ", which is kept for pods that request example.com/dongle.
      Leave spec.nodeName out, so that the scheduler places it." + " (guard " + variables.revision + ")"
  - expression: object.kind != "Binding" || !(variables.target in variables.nodes)
    reason: Forbidden
    message: Pods are bound to protected nodes by schedulers only.
    messageExpression: |-
      "pods are bound to the node " + variables.target + " by system:kube-scheduler only, not by "
      + request.userInfo.username + " (guard " + variables.revision + ")"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: guard
  labels:
    app.kubernetes.io/managed-by: nodecraft.kubeadm
spec:
  policyName: guard
  validationActions:
  - Warn
  - Audit
"""

FULL = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: guard
  labels:
    app.kubernetes.io/managed-by: nodecraft.kubeadm
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector:
      matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values:
        - kube-system
        - ops
    resourceRules:
    - apiGroups:
      - ''
      apiVersions:
      - v1
      operations:
      - CREATE
      resources:
      - pods
      - pods/binding
      - bindings
    - apiGroups:
      - ''
      apiVersions:
      - v1
      operations:
      - UPDATE
      resources:
      - pods
  matchConditions:
  - name: by-no-scheduler
    expression: object.kind != "Binding" || !(request.userInfo.username in ["system:kube-scheduler", "system:serviceaccount:ns:mine"])
  - name: no-static-pod
    expression: |-
      !("system:nodes" in request.userInfo.?groups.orValue([])
        && "kubernetes.io/config.mirror" in object.metadata.?annotations.orValue({}))
  - name: chooses-a-place
    expression: |-
      object.kind == "Binding"
      || (request.operation == "CREATE"
          ? has(dyn(object).spec.nodeName) || has(dyn(object).spec.tolerations)
          : !has(dyn(oldObject).spec.nodeName) && dyn(object).spec.?tolerations != dyn(oldObject).spec.?tolerations)
  variables:
  - name: revision
    expression: '"00000000"'
  - name: nodes
    expression: |-
      [
        "w1",
        "w2"
      ]
  - name: resources
    expression: |-
      [
        "example.com/dongle",
        "example.com/b"
      ]
  - name: target
    expression: 'object.kind == "Binding" ? dyn(object).target.name : dyn(object).spec.?nodeName.orValue("")'
  - name: requests
    expression: |-
      (dyn(object).spec.containers + dyn(object).spec.?initContainers.orValue([])).exists(container,
        variables.resources.exists(resource,
          quantity(container.?resources.?requests[?resource].orValue("0")).isGreaterThan(quantity("0"))))
  - name: daemonSets
    expression: |-
      [
        "ns/agent"
      ]
  - name: ofDaemonSet
    expression: |-
      request.userInfo.username in ["system:serviceaccount:kube-system:daemon-set-controller", "system:kube-controller-manager"]
      && object.metadata.?ownerReferences.orValue([]).exists(owner,
        owner.kind == "DaemonSet" && request.namespace + "/" + owner.name in variables.daemonSets)
  - name: excepted
    expression: |-
      variables.ofDaemonSet
      || (object.metadata.namespace == "ops"
      )
      || (request.userInfo.username == "ada"
      )
  - name: taints
    expression: |-
      [
        {
          "effect": "NoExecute",
          "key": "a",
          "value": ""
        },
        {
          "effect": "NoSchedule",
          "key": "a",
          "value": "b"
        }
      ]
  - name: tolerates
    expression: |-
      dyn(object).spec.?tolerations.orValue([]).exists(toleration,
        variables.taints.exists(taint,
          toleration.?key.orValue("") in ["", taint.key] && toleration.?effect.orValue("") in ["", taint.effect]
          && (!(toleration.?operator.orValue("") in ["", "Equal"]) || toleration.?value.orValue("") == taint.value)))
  - name: elsewhere
    expression: |-
      variables.target != "" && !(variables.target in variables.nodes)
      || [dyn(object).spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])]
        .exists(terms, size(terms) > 0 && terms.all(term,
          term.?matchFields.orValue([]).exists(field,
            field.key == "metadata.name" && field.operator == "In" && !field.values.exists(name, name in variables.nodes))))
  validations:
  - expression: object.kind == "Binding" || !(variables.target in variables.nodes) || variables.requests || variables.excepted
    reason: Forbidden
    message: The pod names a protected node.
    messageExpression: >-
      "the pod names the node " + variables.target + ", which is kept for pods that request example.com/dongle or example.com/b.
      Leave spec.nodeName out, so that the scheduler places it." + " (guard " + variables.revision + ")"
  - expression: object.kind != "Binding" || !(variables.target in variables.nodes)
    reason: Forbidden
    message: Pods are bound to protected nodes by schedulers only.
    messageExpression: |-
      "pods are bound to the node " + variables.target + " by system:kube-scheduler, system:serviceaccount:ns:mine only, not by "
      + request.userInfo.username + " (guard " + variables.revision + ")"
  - expression: object.kind == "Binding" || !variables.tolerates || variables.requests || variables.elsewhere || variables.excepted
    reason: Forbidden
    message: The pod tolerates a taint of protected nodes.
    messageExpression: >-
      "the pod tolerates a taint of nodes that are kept for pods that request example.com/dongle or example.com/b.
      Leave the toleration out, also one without a key." + " (guard " + variables.revision + ")"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: guard
  labels:
    app.kubernetes.io/managed-by: nodecraft.kubeadm
spec:
  policyName: guard
  validationActions:
  - Deny
  - Audit
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: guard
  labels:
    app.kubernetes.io/managed-by: nodecraft.kubeadm
spec:
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
  matchConstraints:
    namespaceSelector:
      matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values:
        - kube-system
        - ops
    resourceRules:
    - apiGroups:
      - ''
      apiVersions:
      - v1
      operations:
      - CREATE
      resources:
      - pods
  matchConditions:
  - name: no-static-pod
    expression: |-
      !("system:nodes" in request.userInfo.?groups.orValue([])
        && "kubernetes.io/config.mirror" in object.metadata.?annotations.orValue({}))
  - name: names-a-node
    expression: has(dyn(object).spec.nodeName)
  variables:
  - name: revision
    expression: '"00000000"'
  - name: nodes
    expression: |-
      [
        "w1",
        "w2"
      ]
  - name: resources
    expression: |-
      [
        "example.com/dongle",
        "example.com/b"
      ]
  - name: target
    expression: 'object.kind == "Binding" ? dyn(object).target.name : dyn(object).spec.?nodeName.orValue("")'
  - name: requests
    expression: |-
      (dyn(object).spec.containers + dyn(object).spec.?initContainers.orValue([])).exists(container,
        variables.resources.exists(resource,
          quantity(container.?resources.?requests[?resource].orValue("0")).isGreaterThan(quantity("0"))))
  - name: daemonSets
    expression: |-
      [
        "ns/agent"
      ]
  - name: ofDaemonSet
    expression: |-
      request.userInfo.username in ["system:serviceaccount:kube-system:daemon-set-controller", "system:kube-controller-manager"]
      && object.metadata.?ownerReferences.orValue([]).exists(owner,
        owner.kind == "DaemonSet" && request.namespace + "/" + owner.name in variables.daemonSets)
  - name: excepted
    expression: |-
      variables.ofDaemonSet
      || (object.metadata.namespace == "ops"
      )
      || (request.userInfo.username == "ada"
      )
  - name: terms
    expression: dyn(object).spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])
  - name: pin
    expression: '[{"key": dyn("metadata.name"), "operator": dyn("In"), "values": dyn([variables.target])}]'
  - name: pinnedTerms
    expression: |-
      size(variables.terms) == 0
      ? [{"matchFields": dyn(variables.pin)}]
      : variables.terms.map(term,
          size(term.?matchExpressions.orValue([])) + size(term.?matchFields.orValue([])) == 0
          ? dyn({})
          : dyn({
              "matchExpressions": dyn(term.?matchExpressions.orValue([]).map(one,
                {"key": dyn(one.key), "operator": dyn(string(one.operator)), "values": dyn(one.?values.orValue([]).map(value, value))})),
              "matchFields": dyn(term.?matchFields.orValue([]).map(one,
                {"key": dyn(one.key), "operator": dyn(string(one.operator)), "values": dyn(one.?values.orValue([]).map(value, value))}) + variables.pin)}))
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: |-
        !(variables.target in variables.nodes) || variables.excepted ? [] :
        [JSONPatch{op: "remove", path: "/spec/nodeName"}]
        + (has(dyn(object).spec.affinity) ? [] :
           [JSONPatch{op: "add", path: "/spec/affinity", value: Object.spec.affinity{}}])
        + (has(dyn(object).spec.affinity) && has(dyn(object).spec.affinity.nodeAffinity) ? [] :
           [JSONPatch{op: "add", path: "/spec/affinity/nodeAffinity", value: Object.spec.affinity.nodeAffinity{}}])
        + [JSONPatch{op: "add", path: "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
                     value: {"nodeSelectorTerms": variables.pinnedTerms}}]
        + (has(object.metadata.annotations) ? [] :
           [JSONPatch{op: "add", path: "/metadata/annotations", value: dyn({})}])
        + [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("nodecraft.kubeadm/placement-guard"),
                     value: "guard " + variables.revision}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: guard
  labels:
    app.kubernetes.io/managed-by: nodecraft.kubeadm
spec:
  policyName: guard
  matchResources:
    objectSelector:
      matchExpressions:
      - key: nodecraft.kubeadm/trial
        operator: NotIn
        values:
        - proof
"""
