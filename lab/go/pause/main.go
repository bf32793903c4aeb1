// SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// The smallest program that keeps a pod alive, and a little more, so that tests have something to run:
//
//	pause              wait for SIGTERM (what a pod sandbox does)
//	pause serve PORT   answer HTTP: the host name, the request and the body, one per line
//	pause get URL      print the answer of URL; exit 1 unless it is 200
//	pause -v           exit 0: the Job by which kubeadm checks a cluster before an upgrade runs this, and waits a minute for it
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 0:
		wait()
	case len(arguments) == 2 && arguments[0] == "serve":
		go func() { fail(http.ListenAndServe(":"+arguments[1], http.HandlerFunc(echo))) }()
		wait()
	case len(arguments) == 2 && arguments[0] == "get":
		fail(get(arguments[1]))
	case len(arguments) == 1 && arguments[0] == "-v":
		fmt.Println("pause")
	default:
		fail(fmt.Errorf("usage: pause [serve PORT | get URL | -v]"))
	}
}

// wait ends on SIGTERM or SIGINT. Until then it reaps: in a pod with a shared process namespace this is process 1.
func wait() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

func echo(response http.ResponseWriter, request *http.Request) {
	host, err := os.Hostname()
	if err != nil {
		host = err.Error()
	}
	fmt.Fprintf(response, "%s\n%s %s from %s\n", host, request.Method, request.URL, request.RemoteAddr)
	if _, err := io.Copy(response, request.Body); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func get(url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
