// SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// All of Kubernetes' node and control-plane programs as one, chosen by the name it is called by.
// They share nearly all of their code, so one program is a fifth of the size and of the build time.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	_ "time/tzdata" // CronJobs name time zones, and the images have no zone files

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the kubernetes_build_info metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// daemon returns the command of a long-running component, or nil.
// The commands are built on demand: building one registers its feature gates and metrics for the whole process.
func daemon(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kubelet":
		return newKubeletCommand()
	}
	return nil
}

// newKubeletCommand passes a context to the releases that take one: 1.32 takes none.
func newKubeletCommand() *cobra.Command {
	create := reflect.ValueOf(kubelet.NewKubeletCommand)
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}[:create.Type().NumIn()]
	return create.Call(arguments)[0].Interface().(*cobra.Command)
}

func main() {
	name := filepath.Base(os.Args[0])
	switch name {
	case "kubeadm":
		if err := kubeadm.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	case "kubectl":
		kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
		return
	}
	command := daemon(name)
	if command == nil {
		fmt.Fprintf(os.Stderr, "%s is not the name of a Kubernetes program\n", name)
		os.Exit(64)
	}
	os.Exit(cli.Run(command))
}
