/** The layout of graphs: columns, order, heights, groups, steps of the arrow keys. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { grouped } from "../src/graph/groups.ts";
import { layout, nodeSize, pathThrough } from "../src/graph/layout.ts";
import { widthFor } from "../src/graph/node-width.ts";
import { type GraphEdge, type GraphNode, linksOf, related } from "../src/graph/nodes.ts";
import { step } from "../src/graph/steps.ts";
import { boxInView, carried, contains, firstView, fitted, revealed, zoomed } from "../src/graph/view.ts";

/** Edges from a text such as `a>b b>c`. */
const edgesOf = (text: string): GraphEdge[] =>
  text.split(" ").map((edge) => {
    const [from = "", to = ""] = edge.split(">");
    return { from, to };
  });
const idsOf = (edges: readonly GraphEdge[]) => [...new Set(edges.flatMap(({ from, to }) => [from, to]))];
const laidOut = (text: string) => {
  const edges = edgesOf(text);
  return layout(idsOf(edges), edges);
};
const columnsIn = (text: string) =>
  Object.fromEntries([...laidOut(text).places].map(([id, { column }]) => [id, column] as const));

const job = (id: string, status = "PENDING"): GraphNode => ({ id, kind: "job", title: id, status });

/** Columns of jobs; each job needs a few jobs of the column before it, always the same ones. */
function layered(columns: number, inEach: number): GraphEdge[] {
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
  const edges: GraphEdge[] = [];
  for (let column = 1; column < columns; column++)
    for (let row = 0; row < inEach; row++)
      for (let need = 0; need < 2; need++)
        edges.push({ from: `${column - 1}.${Math.floor(random() * inEach)}`, to: `${column}.${row}` });
  return edges;
}

describe("the layout of a graph", () => {
  it("puts every node to the right of all nodes that it needs", () => {
    assert.deepEqual(columnsIn("a>b b>c a>c c>d"), { a: 0, b: 1, c: 2, d: 3 });
  });

  it("puts a node that needs nothing directly before the node that needs it", () => {
    assert.deepEqual(columnsIn("a>b b>c s>c"), { a: 0, b: 1, c: 2, s: 1 });
  });

  it("survives cycles, loops, and edges to unknown nodes", () => {
    const { places, lines } = layout(["a", "b", "c"], edgesOf("a>b b>c c>a a>a a>nobody"));
    assert.equal(places.size, 3);
    assert.equal(lines.length, 3);
    const { shape, ...nothing } = layout([], []);
    assert.deepEqual(nothing, { places: new Map(), lines: [], width: 0, height: 0, laidFor: 0 });
  });

  it("goes down as it would go to the right", () => {
    const edges = edgesOf("a>b a>c b>d c>d a>d");
    const down = { width: 160, isDown: true };
    const laid = layout(idsOf(edges), edges, undefined, down);
    const at = (id: string) => laid.places.get(id) ?? { x: 0, y: 0 };
    assert.deepEqual([at("a").y, at("b").y, at("d").y], [0, 78, 156]);
    assert.equal(at("b").y, at("c").y);
    assert.ok(Math.abs(at("b").x - at("c").x) >= 160);
    assert.equal(laid.height, 156 + nodeSize.height);
    const [line] = laid.lines;
    assert.match(pathThrough(line?.points ?? [], down), new RegExp(`^M${at("a").x + 80} 46C.* ${at("b").x + 80} 78$`));
    assert.deepEqual(layout(idsOf(edges), edges, laid, down).places, laid.places);
  });

  it("has nodes as wide as their words, within limits", () => {
    const named = (title: string, rest: object = {}) => ({ title, ...rest });
    assert.equal(widthFor([named("a")]), 160);
    assert.equal(widthFor([named("a"), named("load_pets_of_may.sh", { status: "RUNNING" })]), 192);
    assert.equal(widthFor([named("a", { detail: "1,234 rows · 3 days ago" })]), 192);
    assert.equal(widthFor([named("a very long name of a dataset")]), nodeSize.width);
  });

  it("never puts two nodes on the same place", () => {
    const { places } = layout(idsOf(layered(10, 12)), layered(10, 12));
    const all = [...places.values()];
    for (const [index, a] of all.entries())
      for (const b of all.slice(index + 1))
        if (a.column === b.column) assert.ok(Math.abs(a.y - b.y) >= nodeSize.height, `${a.y} and ${b.y}`);
  });

  it("orders columns so that edges do not cross where they need not", () => {
    const { places } = laidOut("a>x b>y c>z x>3 y>2 z>1");
    const above = (one: string, other: string) => (places.get(one)?.y ?? 0) < (places.get(other)?.y ?? 0);
    assert.equal(above("a", "b"), above("x", "y"));
    assert.equal(above("a", "b"), above("3", "2"));
    assert.equal(above("b", "c"), above("2", "1"));
  });

  it("draws a chain as a straight line, and a node in the middle of its children", () => {
    const heights = new Set([...laidOut("a>b b>c c>d").places.values()].map(({ y }) => y));
    assert.equal(heights.size, 1);
    const { places } = laidOut("a>b a>c a>d");
    assert.equal(places.get("a")?.y, places.get("c")?.y);
  });

  it("lays 1,000 nodes out in well below 100 ms, and ten times as many in about ten times as long", () => {
    // CPU time, because other tests may run at the same time.
    const time = (edges: GraphEdge[]) => {
      const ids = idsOf(edges);
      const begin = process.cpuUsage();
      layout(ids, edges);
      const { user, system } = process.cpuUsage(begin);
      return (user + system) / 1000;
    };
    const [some, many] = [layered(20, 50), layered(50, 200)];
    time(some);
    const fastest = (edges: GraphEdge[]) => Math.min(...Array.from({ length: 3 }, () => time(edges)));
    const [one, ten] = [fastest(some), fastest(many)];
    assert.ok(one < 100, `${one} ms`);
    assert.ok(ten < 30 * one, `${ten} ms, for a tenth ${one} ms`);
  });

  it("leaves everything where it was when a node is removed, and closes gaps when many are", () => {
    const without = (gone: readonly string[], edges: readonly GraphEdge[]) =>
      edges.filter(({ from, to }) => !gone.includes(from) && !gone.includes(to));
    const edges = [...layered(10, 12), { from: "0.1", to: "9.1" }];
    const ids = idsOf(edges);
    const whole = layout(ids, edges);
    const left = ids.filter((id) => id !== "4.4");
    const less = layout(left, without(["4.4"], edges), whole);
    const inPlace = left.filter((id) => less.places.get(id)?.column === whole.places.get(id)?.column);
    assert.ok(inPlace.length > 110);
    for (const id of inPlace) assert.deepEqual(less.places.get(id), whole.places.get(id));
    const wayOf = ({ lines }: typeof whole) => lines.find(({ from, to }) => from === "0.1" && to === "9.1")?.points;
    assert.deepEqual(wayOf(less), wayOf(whole));
    const few = left.slice(0, 40);
    const rest = edges.filter(({ from, to }) => few.includes(from) && few.includes(to));
    assert.deepEqual(layout(few, rest, less), layout(few, rest));
  });

  it("puts a new node beside its neighbours, and nothing on the same place", () => {
    const edges = layered(10, 12);
    const more = [...edges, { from: "3.3", to: "new" }, { from: "new", to: "5.3" }];
    const { places } = layout(idsOf(more), more, layout(idsOf(edges), edges));
    const column = [...places.values()].filter((place) => place.column === places.get("new")?.column);
    const heights = column.map(({ y }) => y).sort((a, b) => a - b);
    for (const [index, y] of heights.slice(1).entries()) assert.ok(y - (heights[index] ?? 0) >= nodeSize.height);
  });

  it("holds on to long edges: a thousand edges over a thousand columns", () => {
    const chain = Array.from({ length: 999 }, (_, index) => ({ from: `${index}`, to: `${index + 1}` }));
    const long = Array.from({ length: 998 }, (_, index) => ({ from: "0", to: `${index + 2}` }));
    const begin = performance.now();
    const { places } = layout(idsOf(chain), [...chain, ...long]);
    assert.equal(places.get("999")?.column, 999);
    assert.ok(performance.now() - begin < 1000);
  });
});

describe("what is related to a node", () => {
  it("is all that is upstream or downstream of it", () => {
    const edges = edgesOf("a>b b>c a>d d>e x>c");
    const links = linksOf(
      idsOf(edges).map((id) => ({ id })),
      edges,
    );
    assert.deepEqual([...related(links, "b")].sort(), ["a", "b", "c"]);
  });
});

describe("the arrow keys", () => {
  it("lead along the edges, and up and down in a column", () => {
    const edges = edgesOf("a>b a>c b>d c>d");
    const laid = layout(idsOf(edges), edges);
    const links = linksOf(
      idsOf(edges).map((id) => ({ id })),
      edges,
    );
    const [upper = "", lower = ""] = ["b", "c"].sort(
      (x, y) => (laid.places.get(x)?.y ?? 0) - (laid.places.get(y)?.y ?? 0),
    );
    assert.equal(step("d", "left", laid, links), step("a", "right", laid, links));
    assert.equal(step(upper, "down", laid, links), lower);
    assert.equal(step(lower, "up", laid, links), upper);
    assert.equal(step("a", "left", laid, links), undefined);
  });

  it("lead down a graph that goes down", () => {
    const edges = edgesOf("a>b a>c");
    const laid = layout(idsOf(edges), edges, undefined, { width: 160, isDown: true });
    const links = linksOf(
      idsOf(edges).map((id) => ({ id })),
      edges,
    );
    const first = step("a", "down", laid, links) ?? "";
    assert.equal(step(first, "up", laid, links), "a");
    assert.ok(step(first, "right", laid, links) ?? step(first, "left", laid, links));
  });
});

describe("the view of a graph", () => {
  const frame = { width: 800, height: 400 };
  const whole = { left: 0, top: 0, right: 5000, bottom: 300 };
  const graph = { width: 5000, height: 300 };

  it("begins with all of a small graph, and with a readable part of a large one", () => {
    assert.equal(firstView({ width: 300, height: 100 }, frame, undefined).scale, 1);
    const { scale, x, y } = firstView(graph, frame, undefined);
    assert.ok(scale > 0.7);
    assert.ok(x > 0 && x < 30, "at its left edge");
    assert.equal(y, (frame.height - graph.height * scale) / 2);
  });

  it("begins with all of a chain of seven nodes, rather than cut off its ends", () => {
    const chain = layout(
      ["a", "b", "c", "d", "e", "f", "g"],
      ["ab", "bc", "cd", "de", "ef", "fg"].map(([from = "", to = ""]) => ({ from, to })),
    );
    const wide = { width: 1046, height: 218 };
    const seen = boxInView(firstView(chain, wide, chain.places.get("d")), wide);
    assert.ok(contains(seen, { left: 0, top: 0, right: chain.width, bottom: chain.height }));
  });

  it("begins at the node that matters, without empty space beyond the graph", () => {
    const at = (x: number) => firstView(graph, frame, { x, y: 100, column: 0 });
    const { x, scale } = at(2400);
    assert.ok(Math.abs(2400 * scale + x - frame.width / 2) < 200);
    const end = at(4990);
    assert.ok(graph.width * end.scale + end.x >= frame.width - 30);
  });

  it("fits the whole graph, zooms around a place, and moves to a node that is out of view", () => {
    assert.ok(contains(boxInView(fitted(graph, frame), frame), whole));
    const view = zoomed({ x: 0, y: 0, scale: 1 }, 0.5, { x: 100, y: 50 });
    assert.deepEqual(view, { scale: 0.5, x: 50, y: 25 });
    const moved = revealed({ x: 0, y: 0, scale: 1 }, { x: 2000, y: 10, column: 8 }, frame);
    assert.ok(2000 + nodeSize.width + moved.x <= frame.width);
  });
});

describe("the view of a changed graph", () => {
  const frame = { width: 800, height: 400 };
  const places = (at: Record<string, number>) =>
    new Map(Object.entries(at).map(([id, y]) => [id, { x: 0, y, column: 0 }]));

  it("keeps the node in the middle where it is, and begins anew if nothing in view is left", () => {
    const view = { x: 10, y: 0, scale: 0.5 };
    const before = places({ a: 0, b: 400, c: 5000 });
    assert.deepEqual(carried(view, frame, before, places({ a: 0, b: 300, c: 5000 })), { x: 10, y: 50, scale: 0.5 });
    assert.deepEqual(carried(view, frame, before, places({ a: 0, c: 4000 })), { x: 10, y: 0, scale: 0.5 });
    assert.equal(carried(view, frame, before, places({ c: 0 })), undefined);
  });
});

describe("groups", () => {
  const many = Array.from({ length: 1000 }, (_, index) => job(`${index}`));

  it("leave a small graph as it is", () => {
    const nodes = many.slice(0, 100);
    assert.deepEqual(grouped(nodes, [], new Set()), { nodes, edges: [] });
  });

  it("join nodes with the same neighbours, but no failed one", () => {
    const nodes = [job("first"), ...many, job("broken", "FAILED"), job("last")];
    const edges = [...many, job("broken")].flatMap(({ id }) => [
      { from: "first", to: id },
      { from: id, to: "last" },
    ]);
    const result = grouped(nodes, edges, new Set());
    assert.deepEqual(
      result.nodes.map(({ title }) => title),
      ["first", "1,000 jobs", "broken", "last"],
    );
    assert.equal(result.edges.length, 4);
    assert.equal(grouped(nodes, edges, new Set(["5"])).nodes.length, nodes.length);
  });

  it("cut a long chain into parts, and open only the part of an open node", () => {
    const edges = many.slice(1).map(({ id }, index) => ({ from: `${index}`, to: id }));
    const result = grouped(many, edges, new Set());
    assert.equal(result.nodes.length, 32);
    assert.equal(result.edges.length, 31);
    assert.equal(grouped(many, edges, new Set(["500"])).nodes.length, 31 + 32);
  });
});
