// The client of Kubernetes for Go, on views: what controllers in Go would do with them.
//
//	views-client inform KUBECONFIG GROUP RESOURCE
//	    an informer with a lister: prints its events; answers each line "list" with all objects
//	views-client elect KUBECONFIG NAMESPACE NAME IDENTITY
//	    takes part in the election of a leader with a Lease, and prints the outcome
//
// Both end when their input ends.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var output sync.Mutex

func say(format string, values ...any) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf(format+"\n", values...)
}

func main() {
	if len(os.Args) < 5 {
		fail(fmt.Errorf("usage: views-client inform|elect KUBECONFIG ..."))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		fail(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch {
	case os.Args[1] == "inform":
		err = inform(ctx, config, os.Args[3], os.Args[4])
	case os.Args[1] == "elect" && len(os.Args) == 6:
		err = elect(ctx, cancel, config, os.Args[3], os.Args[4], os.Args[5])
	default:
		err = fmt.Errorf("unknown arguments: %v", os.Args[1:])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func inform(ctx context.Context, config *rest.Config, group, resource string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	kind := schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: resource}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(kind)
	shared := informer.Informer()
	_, err = shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { say("added %s", describe(object)) },
		UpdateFunc: func(_, object any) { say("updated %s", describe(object)) },
		DeleteFunc: func(object any) { say("deleted %s", describe(object)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), shared.HasSynced) {
		return fmt.Errorf("the informer did not sync")
	}
	say("synced")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		objects, err := informer.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		names := []string{}
		for _, object := range objects {
			names = append(names, describe(object))
		}
		sort.Strings(names)
		say("listed [%s]", strings.Join(names, " "))
	}
	return lines.Err()
}

// The namespace, name and field `k` of an object.
func describe(object any) string {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	found, ok := object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Sprintf("%T", object)
	}
	value, _, _ := unstructured.NestedString(found.Object, "k")
	return fmt.Sprintf("%s/%s=%s", found.GetNamespace(), found.GetName(), value)
}

func elect(ctx context.Context, cancel context.CancelFunc, config *rest.Config, namespace, name, identity string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
		}
		cancel()
	}()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say("leading") },
			OnStoppedLeading: func() { say("stopped") },
			OnNewLeader:      func(leader string) { say("leader %s", leader) },
		},
	})
	return nil
}
