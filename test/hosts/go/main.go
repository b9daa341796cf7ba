// The official Go SDK as a host that knows the address of /mcp and nothing else.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Getenv("BASE_URL") + "/mcp"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	execute := func(pat string) string {
		arguments := map[string]any{"intent_uid": "world.example:get-country:v1", "parameters": map[string]any{"code": "JP"}}
		if pat != "" {
			arguments["pat"] = pat
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_intent", Arguments: arguments})
		if err != nil {
			log.Fatal(err)
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	json.NewEncoder(os.Stdout).Encode(map[string]string{"told": execute(""), "done": execute(os.Getenv("PAT"))})
}
