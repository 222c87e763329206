// A loop of the AI SDK with a scripted model and the example `http_ai_sdk.ts`, in this folder.
// node ai_sdk.mjs <session> <steps>: prints what the model was sent in each step, as JSON.
import { generateText, isStepCount, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { contextRestore, fitting } from "./http_ai_sdk.ts";

const [session, steps] = process.argv.slice(2);
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const sent = [];
const refs = (prompt) => [...JSON.stringify(prompt).matchAll(/ref ([0-9a-f]{12})/g)].map((m) => m[1]);

function said(prompt) {
  const number = sent.push(prompt);
  const call = (toolName, input) => ({
    content: [{ type: "tool-call", toolCallId: `c${number}`, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls", raw: undefined },
    usage,
    warnings: [],
  });
  if (number <= Number(steps)) return call("run", { number });
  if (number === Number(steps) + 1) return call("context_restore", { ref: refs(prompt)[0] });
  return {
    content: [{ type: "text", text: "done" }],
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: [],
  };
}

const model = new MockLanguageModelV4({ doGenerate: async ({ prompt }) => said(prompt) });
const run = tool({
  description: "runs",
  inputSchema: z.object({ number: z.number() }),
  execute: async ({ number }) =>
    Array.from({ length: 400 }, (_, line) => `${number}.${line} output of src/part_${line}.py`).join("\n"),
});
const { text } = await generateText({
  model,
  tools: { run, context_restore: contextRestore(session) },
  prepareStep: fitting(session),
  stopWhen: isStepCount(1_000),
  prompt: "Never touch main. Run it all, then say done.",
});
console.log(JSON.stringify({ text, sent }));
