// Sends requests to an endpoint picker as Envoy does (envoy.service.ext_proc.v3), and prints what it
// answers to each: the endpoint, or the status and the words that the client would get.
//
// It is built among the sources of the picker, whose versions of Envoy's messages it takes.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const body = `{"model": "Qwen/Qwen3-0.6B", "prompt": "Say hello.", "max_tokens": 8}`

func header(name, value string) *core.HeaderValue {
	return &core.HeaderValue{Key: name, RawValue: []byte(value)}
}

// ask sends one request and returns what becomes of it.
func ask(ctx context.Context, client extproc.ExternalProcessorClient, headers []*core.HeaderValue) string {
	stream, err := client.Process(ctx)
	if err != nil {
		return err.Error()
	}
	defer stream.CloseSend()
	for _, each := range []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_RequestHeaders{
			RequestHeaders: &extproc.HttpHeaders{Headers: &core.HeaderMap{Headers: headers}},
		}},
		{Request: &extproc.ProcessingRequest_RequestBody{
			RequestBody: &extproc.HttpBody{Body: []byte(body), EndOfStream: true},
		}},
	} {
		if err := stream.Send(each); err != nil {
			return err.Error()
		}
	}
	for {
		answer, err := stream.Recv()
		if err != nil {
			return err.Error()
		}
		if refused := answer.GetImmediateResponse(); refused != nil {
			return fmt.Sprintf("%d %s", refused.GetStatus().GetCode(), strings.TrimSpace(string(refused.GetBody())))
		}
		changes := answer.GetRequestHeaders().GetResponse().GetHeaderMutation().GetSetHeaders()
		for _, each := range changes {
			if each.GetHeader().GetKey() == "x-gateway-destination-endpoint" {
				return "endpoint " + string(each.GetHeader().GetRawValue())
			}
		}
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:9002", "of the picker")
	count := flag.Int("count", 1, "of requests")
	together := flag.Int("together", 1, "requests that are under way at a time")
	only := flag.String("only", "", "the endpoint that the picker's test filter is to let through")
	patience := flag.Duration("patience", 10*time.Second, "until the client gives up")
	flag.Parse()
	connection, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	client := extproc.NewExternalProcessorClient(connection)
	headers := []*core.HeaderValue{
		header(":method", "POST"), header(":path", "/v1/completions"), header("content-type", "application/json"),
	}
	if *only != "" {
		headers = append(headers, header("test-epp-endpoint-selection", *only))
	}
	var waiting sync.WaitGroup
	turns := make(chan struct{}, *together)
	for range *count {
		turns <- struct{}{}
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			ctx, cancel := context.WithTimeout(context.Background(), *patience)
			defer cancel()
			fmt.Println(ask(ctx, client, headers))
			<-turns
		}()
	}
	waiting.Wait()
}
