// Plain HTTP with fetch: nothing to install. Node runs this file from version 22.18 on, as do Deno
// and Bun.
//
//   CONTEXT_COMPRESSION_TOKEN=… node examples/http_fetch.ts chat.json
//
// chat.json holds a list of messages, in the format of any provider.
import { readFile } from "node:fs/promises";

type Json = Record<string, unknown>;
type Sent<Message> = { messages: Message[]; system?: unknown; tools?: unknown; model?: string };

export type Compacted<Message> = {
  /** What to send instead. */
  messages: Message[];
  system?: unknown;
  tokens_before: number;
  tokens_after: number;
  target_met: boolean;
  changed: boolean;
  session?: string;
  refs: Record<string, { what: string; messages: number[]; sha256: string }>;
  report?: Json;
  warnings: string[];
};
export type Restored = { text: string; ref?: string; what?: string; session?: string };

/** What the server refused, in its words. */
export class Refused extends Error {
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

const url = process.env.CONTEXT_COMPRESSION_URL ?? "http://127.0.0.1:8765";

async function ask<Answer>(path: string, body: unknown): Promise<Answer> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${process.env.CONTEXT_COMPRESSION_TOKEN}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.error.type, answer.error.message);
  return answer;
}

/** Compresses a conversation now. */
export const compress = <Message>(
  body: Sent<Message> & { target_tokens?: number; session?: string; settings?: Json },
) => ask<Compacted<Message>>("/v1/compress", body);

/** What to send instead of a history: call it before each request to the model. */
export const fit = <Message>(body: Sent<Message> & { session: string }) =>
  ask<Compacted<Message>>("/v1/fit", body);

/** An original by its ref, or what a search finds. */
export const restore = (body: { ref?: string; query?: string; session?: string } & Json) =>
  ask<Restored>("/v1/restore", body);

if (process.argv[1] === import.meta.filename && process.argv[2]) {
  const messages: Json[] = JSON.parse(await readFile(process.argv[2], "utf8"));
  const small = await compress({ messages, target_tokens: 20_000 });
  console.log(`${small.tokens_before} -> ${small.tokens_after} tokens in ${small.session}`);
  const ref = Object.keys(small.refs)[0];
  if (ref) {
    const { text, what } = await restore({ ref, session: small.session });
    console.log(`${ref}, ${what}: ${text.length} characters`);
  }
}
