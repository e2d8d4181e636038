/** A bare Fastify route that answers with the bytes of a file; prints its port. */
import { readFileSync } from "node:fs";
import fastify from "fastify";

const bytes = readFileSync(process.argv[2] ?? "", "utf8");
const app = fastify();
app.get("/jobs", (_request, reply) => reply.type("application/json; charset=utf-8").send(bytes));
console.log(new URL(await app.listen({ port: 0, host: "127.0.0.1" })).port);
