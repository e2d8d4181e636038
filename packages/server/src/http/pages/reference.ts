/** Renders the OpenAPI document as the reference page /api/docs. */
import { openapiDocument, type Route, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import type { RequestContext } from "../requests/context.ts";
import { type Html, html, type Page } from "./html.ts";
import { publicPage } from "./page-routes.ts";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: unknown;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export function referencePage(app: FastifyInstance, context: RequestContext): void {
  const access = { kind: "public", why: "the description of the API is no secret" } as const;
  // Rendered once, because anybody may request the page, and rendering costs as much as a hundred other answers.
  let page: Page | undefined;
  publicPage(app, context, { method: "GET", url: "/api/docs", access }, async () => {
    page ??= {
      title: "API reference",
      isWide: true,
      body: render(openapiDocument(Object.values(routes) as Route[]) as unknown as Document),
    };
    return page;
  });
}

function render({ info, paths, components }: Document): Html {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const tags = [...new Set(operations.map(({ operation }) => operation.tags[0] ?? ""))];
  return html`<h1>${info.title} API ${info.version}</h1>
<p>${info.description} Send <code>Authorization: Bearer isat_…</code>; every call works in one team, named by <code>team_name</code>. The same as a document: <a href="/api/openapi.json">/api/openapi.json</a>.</p>
${tags.map(
  (tag) =>
    html`<h2>${tag}</h2>${operations
      .filter(({ operation }) => operation.tags[0] === tag)
      .map(({ path, method, operation }) => showOperation(path, method, operation))}`,
)}
<h2>Schemas</h2>
${Object.entries(components.schemas).map(([name, schema]) => html`<details id="schema-${name}"><summary><code>${name}</code></summary>${fields(schema)}</details>`)}`;
}

function showOperation(path: string, method: string, operation: Operation): Html {
  return html`<details id="${operation.operationId}"><summary><code>${method} ${path}</code> ${operation.summary}</summary>
<p>${operation.description}</p>
${
  operation.parameters.length > 0 &&
  html`<div class="scroll"><table><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead><tbody>
${operation.parameters.map((p) => html`<tr><td><code>${p.name}</code>${p.required ? " *" : ""}</td><td>${p.in}</td><td>${typeOf(p.schema)}</td><td>${meaning(p.schema)}</td></tr>`)}
</tbody></table></div>`
}
${Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => html`<p>Body: <code>${type}</code> ${typeOf(schema)}</p>${fields(schema)}`)}
${Object.entries(operation.responses).map(([status, response]) => html`<p><strong>${status}</strong> ${response.description}${Object.entries(response.content ?? {}).map(([type, { schema }]) => html` · <code>${type}</code> ${typeOf(schema)}`)}</p>`)}
</details>`;
}

function fields(schema: Schema): Html {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) return html``;
  return html`<div class="scroll"><table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>
${properties.map(([name, property]) => html`<tr><td><code>${name}</code>${schema.required?.includes(name) ? " *" : ""}</td><td>${typeOf(property)}</td><td>${meaning(property)}</td></tr>`)}
</tbody></table></div>`;
}

function typeOf(schema: Schema): Html {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const type = [schema.type ?? "any"].flat();
  return type.includes("array") && schema.items ? html`array of ${typeOf(schema.items)}` : html`${type.join(" or ")}`;
}

function meaning(schema: Schema): string {
  const values = schema.enum ? `one of ${schema.enum.filter((value) => value !== null).join(", ")}` : "";
  const fallback = schema.default === undefined ? "" : `default ${JSON.stringify(schema.default)}`;
  return [schema.description, values, fallback].filter(Boolean).join("; ");
}
