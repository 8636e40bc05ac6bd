// A device plugin with GPUs that nobody has: the node offers as many as it says, and keeps count of
// who has them. Containers get nothing. SIGUSR1 makes the first device unhealthy, SIGUSR2 healthy.
// The protocol is k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	resource = "nvidia.com/gpu"
	socket   = "played-gpu.sock"
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	count   int
	signals chan os.Signal
}

func (*plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty, to api.DevicePlugin_ListAndWatchServer) error {
	devices := make([]*api.Device, p.count)
	for i := range devices {
		devices[i] = &api.Device{ID: fmt.Sprintf("gpu-%d", i), Health: api.Healthy}
	}
	for {
		if err := to.Send(&api.ListAndWatchResponse{Devices: devices}); err != nil {
			return err
		}
		select {
		case number := <-p.signals:
			devices[0].Health = api.Healthy
			if number == syscall.SIGUSR1 {
				devices[0].Health = api.Unhealthy
			}
		case <-to.Context().Done():
			return nil
		}
	}
}

func (*plugin) Allocate(_ context.Context, asked *api.AllocateRequest) (*api.AllocateResponse, error) {
	given := &api.AllocateResponse{}
	for range asked.ContainerRequests {
		given.ContainerResponses = append(given.ContainerResponses, &api.ContainerAllocateResponse{})
	}
	return given, nil
}

// Serve until ended; the argument is how many devices there are.
func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil || count < 1 {
		log.Fatal("how many devices?")
	}
	path := filepath.Join(api.DevicePluginPath, socket)
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	served := &plugin{count: count, signals: make(chan os.Signal, 1)}
	signal.Notify(served.signals, syscall.SIGUSR1, syscall.SIGUSR2)
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, served)
	go register()
	log.Fatal(server.Serve(listener))
}

func register() {
	kubelet, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err == nil {
		request := &api.RegisterRequest{Version: api.Version, Endpoint: socket, ResourceName: resource}
		_, err = api.NewRegistrationClient(kubelet).Register(context.Background(), request)
	}
	if err != nil {
		log.Fatal(err)
	}
}
