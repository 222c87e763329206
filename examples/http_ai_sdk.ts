// The AI SDK: a loop of any length stays within the window of its model.
//
//   npm install ai zod @ai-sdk/anthropic
//
//   import { anthropic } from "@ai-sdk/anthropic";
//   import { generateText, isStepCount } from "ai";
//   import { contextRestore, fitting } from "./http_ai_sdk.ts";
//
//   await generateText({
//     model: anthropic("claude-sonnet-5"),
//     tools: { ...tools, context_restore: contextRestore("build-7") },
//     prepareStep: fitting("build-7"),
//     stopWhen: isStepCount(1_000),
//     prompt: "Why is the build red?",
//   });
import { type ModelMessage, tool } from "ai";
import { z } from "zod";
import { fit, Refused, restore } from "./http_fetch.ts";

/** Offered to the model, so that outputs may be shown as previews. */
const OURS = [{ name: "context_restore" }];

/** `prepareStep` for one conversation: what is sent to the model fits, before each step. */
export const fitting =
  (session: string, model?: string) =>
  async ({ messages }: { messages: ModelMessage[] }) => {
    const fitted = await fit({ session, messages, model, tools: OURS });
    for (const warning of fitted.warnings) console.warn(warning);
    return { messages: fitted.messages };
  };

/** The tool with which the model brings back what left its context. */
export const contextRestore = (session: string) =>
  tool({
    description:
      "Brings back what was moved out of this conversation. The notes in its place name the ref. " +
      "Without a ref, query searches everything that was moved out.",
    inputSchema: z.object({
      ref: z.string().optional(),
      lines: z.string().optional().describe("10-40"),
      pattern: z.string().optional().describe("regex for lines"),
      query: z.string().optional().describe("words | other wordings"),
    }),
    execute: async (asked) => {
      try {
        return (await restore({ ...asked, session })).text;
      } catch (error) {
        if (error instanceof Refused) return `Error: ${error.message}`; // the model asks otherwise
        throw error;
      }
    },
  });
