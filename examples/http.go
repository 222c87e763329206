// Plain HTTP in Go, with the standard library alone.
//
//	CONTEXT_COMPRESSION_TOKEN=… go run examples/http.go chat.json
//
// chat.json holds a list of messages, in the format of any provider.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

// Sent is what a program would send to its model. Messages stay as they are, byte for byte.
type Sent struct {
	Session      string            `json:"session,omitempty"`
	Messages     []json.RawMessage `json:"messages"`
	System       json.RawMessage   `json:"system,omitempty"`
	Tools        json.RawMessage   `json:"tools,omitempty"`
	Model        string            `json:"model,omitempty"`
	TargetTokens int               `json:"target_tokens,omitempty"`
}

// Compacted is what to send instead.
type Compacted struct {
	Messages     []json.RawMessage `json:"messages"`
	System       json.RawMessage   `json:"system"`
	TokensBefore int               `json:"tokens_before"`
	TokensAfter  int               `json:"tokens_after"`
	TargetMet    bool              `json:"target_met"`
	Changed      bool              `json:"changed"`
	Session      string            `json:"session"`
	Refs         map[string]struct {
		What string `json:"what"`
	} `json:"refs"`
	Warnings []string `json:"warnings"`
}

// Restored is an original, byte for byte.
type Restored struct {
	Text string `json:"text"`
	What string `json:"what"`
}

// Refused is what the server refused, in its words.
type Refused struct {
	Status int
	Body   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func (refused Refused) Error() string { return refused.Body.Message }

// Ask posts a request; answer is filled.
func Ask(path string, body any, answer any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	url := os.Getenv("CONTEXT_COMPRESSION_URL")
	if url == "" {
		url = "http://127.0.0.1:8765"
	}
	request, err := http.NewRequest(http.MethodPost, url+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("CONTEXT_COMPRESSION_TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refused := Refused{Status: response.StatusCode}
		if err := json.NewDecoder(response.Body).Decode(&refused); err != nil {
			return err
		}
		return refused
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

func main() {
	var messages []json.RawMessage
	var small Compacted
	chat, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(chat, &messages)
	}
	if err == nil { // before each request of a loop: Ask("/v1/fit", Sent{Session: …, Messages: …}, …)
		err = Ask("/v1/compress", Sent{Messages: messages, TargetTokens: 20_000}, &small)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d -> %d tokens in %s\n", small.TokensBefore, small.TokensAfter, small.Session)
	for ref := range small.Refs {
		var original Restored
		if err := Ask("/v1/restore", map[string]string{"ref": ref}, &original); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s, %s: %d bytes\n", ref, original.What, len(original.Text))
		break
	}
}
