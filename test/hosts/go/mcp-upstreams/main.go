// A server made with the official Go SDK.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type point struct {
	X int64 `json:"x" jsonschema:"distance to the east"`
	Y int64 `json:"y"`
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "points", Title: "Points", Version: "1.2.3"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "move_point", Description: "Moves a point to the east."},
		func(ctx context.Context, request *mcp.CallToolRequest, in struct {
			Point point `json:"point"`
			By    int64 `json:"by,omitempty"`
		}) (*mcp.CallToolResult, point, error) {
			return nil, point{in.Point.X + in.By, in.Point.Y}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "refuse", Description: "Refuses."},
		func(ctx context.Context, request *mcp.CallToolRequest, in struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("Refused: always")
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
