// An agent with the TypeScript SDK of a provider: a loop of requests and one tool, `logs`.
// node sdk_agent.mjs <folder with node_modules> <messages|chat|responses> <stream|whole> <url>
//     <folder of the files> <what the user says, as JSON>
// Prints its history as JSON.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, api, how, url, files, words] = process.argv.slice(2);
const packages = createRequire(join(folder, "package.json"));
const stream = how === "stream";
const about = { name: "logs", description: "Prints a file of a build." };
const schema = {
  type: "object",
  properties: { name: { type: "string" }, number: { type: "integer" } },
  required: ["name", "number"],
};
const system = "You are a careful engineer. Read every file before you answer.";

function run(name, given) {
  if (name !== "logs") throw new Error(`the client has no tool ${name}`);
  return readFileSync(join(files, `${given.name}-${given.number}.txt`), "utf-8");
}

const agents = {
  messages() {
    const Anthropic = packages("@anthropic-ai/sdk").default;
    const client = new Anthropic({ apiKey: "sk-test", baseURL: url });
    const tools = [{ ...about, input_schema: schema }];
    return async (messages) => {
      const request = { model: "claude-opus-5-5", max_tokens: 1000, system, tools, messages };
      const answer = stream
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      const results = answer.content
        .filter(({ type }) => type === "tool_use")
        .map(({ id, name, input }) => ({
          type: "tool_result", tool_use_id: id, content: run(name, input),
        }));
      const said = [{ role: "assistant", content: answer.content }];
      return [said, results.length ? [{ role: "user", content: results }] : []];
    };
  },
  chat() {
    const OpenAI = packages("openai").default;
    const client = new OpenAI({ apiKey: "sk-test", baseURL: url });
    const tools = [{ type: "function", function: { ...about, parameters: schema } }];
    return async (history) => {
      const messages = [{ role: "system", content: system }, ...history];
      const request = { model: "gpt-5", messages, tools };
      const answer = stream
        ? await client.chat.completions.stream(request).finalChatCompletion()
        : await client.chat.completions.create(request);
      const { content, tool_calls: calls } = answer.choices[0].message;
      const results = (calls ?? []).map(({ id, function: { name, arguments: given } }) => ({
        role: "tool", tool_call_id: id, content: run(name, JSON.parse(given)),
      }));
      const tool_calls = (calls ?? []).map(({ id, type, function: { name, arguments: given } }) => ({
        id, type, function: { name, arguments: given },
      }));
      const said = { role: "assistant", content, ...(calls?.length ? { tool_calls } : {}) };
      return [[said], results];
    };
  },
  responses() {
    const OpenAI = packages("openai").default;
    const client = new OpenAI({ apiKey: "sk-test", baseURL: url });
    const tools = [{ type: "function", ...about, parameters: schema, strict: false }];
    const include = ["reasoning.encrypted_content"];
    return async (input) => {
      const request = { model: "gpt-5", instructions: system, input, tools, store: false, include };
      const answer = stream
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request);
      const said = answer.output.map(({ parsed_arguments, ...item }) => item);
      const results = said
        .filter(({ type }) => type === "function_call")
        .map(({ call_id, name, arguments: given }) => ({
          type: "function_call_output", call_id, output: run(name, JSON.parse(given)),
        }));
      return [said, results];
    };
  },
};

const ask = agents[api]();
const history = [];
for (const content of JSON.parse(words)) {
  history.push({ role: "user", content });
  for (;;) {
    const [said, results] = await ask(history);
    history.push(...said, ...results);
    if (!results.length) break;
  }
}
console.log(JSON.stringify(history));
