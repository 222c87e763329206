// The client of the TypeScript SDK: lists the tools, makes one call, prints both as JSON.
// node typescript.mjs <folder with node_modules> <url> <mode> <tool> <arguments as JSON>
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, url, mode, tool, given] = process.argv.slice(2);
const packages = createRequire(join(folder, "package.json"));
const { Client, StreamableHTTPClientTransport } = packages("@modelcontextprotocol/client");

const options = { versionNegotiation: { mode } };
const client = new Client({ name: "typescript", version: "1" }, options);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: JSON.parse(given) });
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), result }));
await client.close();
