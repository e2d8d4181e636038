/**
 * The demo: a lineage of three jobs, a pipeline that rebuilds it, a running job, a failure that teaches, and a paused
 * schedule. It is made of shell scripts, which need nothing that may be missing, and through the same routes that
 * everybody uses. Its jobs have the tag `millrace-demo`, its datasets are in the project `demo.shop`.
 */
import {
  ApiError,
  type Client,
  type Job,
  type JobInput,
  type ListedDataset,
  type Pipeline,
  type Route,
  routes,
} from "@millrace/contract";

export const demoTag = "millrace-demo";
export const demoProject = "demo.shop";
export const demoSchedule = "Demo: nightly revenue";
/** Tells the datasets of the demo from datasets of the team that happen to have the same names. */
const demoDescription = "Part of the demo. The home of the team can remove it.";

interface Step {
  readonly dataset: string;
  readonly needs: readonly string[];
  readonly script: string;
  readonly rows: number;
  readonly preview: readonly Record<string, string | number>[];
}

const place = (name: string) => `${demoProject}.${name}`;

/** The three datasets, each made by a job from the ones before it. */
const lineage: readonly Step[] = [
  {
    dataset: place("orders"),
    needs: [],
    script: `# Demo: collects the orders of the day.
echo "collecting orders"
for shop in 1 2 3; do echo "$shop/3 shops"; sleep 0.3; done
printf 'id,shop,amount\\n1,north,20\\n2,south,\\n3,north,35\\n'`,
    rows: 3,
    preview: [
      { id: 1, shop: "north", amount: 20 },
      { id: 2, shop: "south", amount: "" },
      { id: 3, shop: "north", amount: 35 },
    ],
  },
  {
    dataset: place("valid_orders"),
    needs: [place("orders")],
    script: `# Demo: leaves out orders without an amount.
printf '1,north,20\\n2,south,\\n3,north,35\\n' | grep -v ',$'
echo "1 of 3 orders was left out"`,
    rows: 2,
    preview: [
      { id: 1, shop: "north", amount: 20 },
      { id: 3, shop: "north", amount: 35 },
    ],
  },
  {
    dataset: place("revenue"),
    needs: [place("valid_orders")],
    script: `# Demo: adds up the amounts of each shop.
echo "north: $((20 + 35))"`,
    rows: 1,
    preview: [{ shop: "north", revenue: 55 }],
  },
];

const job = (name: string, query: string): JobInput => ({
  query,
  query_type: "SHELL",
  query_name: name,
  tags: [demoTag],
});

const failing = job(
  "demo-import.sh",
  `# Demo: a job that fails, to show how Millrace says why.
# To mend it, rerun it with the name of a file that exists, such as /etc/hostname.
file=orders-of-yesterday.csv
echo "importing $file"
cat "$file"`,
);

const running = job(
  "demo-indexing.sh",
  `# Demo: a job that runs for an hour. Its log moves, and it can be canceled.
for i in $(seq 1 1800); do echo "$i/1800 files"; sleep 2; done`,
);

export async function makeDemo(client: Client): Promise<void> {
  const there = await client.call(routes.listDatasets, { query: { prefix: `${demoProject}.` } });
  const own = there.find((dataset) => isDemoName(nameOf(dataset)) && !isDemoDataset(dataset));
  if (own) throw new Error(`The team has a dataset ${nameOf(own)} of its own. The demo would change it.`);
  for (const { dataset, needs, script, rows, preview } of lineage) {
    const { id } = await client.call(routes.createJob, { body: job(`demo-${dataset.split(".").at(-1)}.sh`, script) });
    await client.call(routes.registerVersion, {
      body: {
        name: dataset,
        job_id: id,
        dependencies: [...needs],
        num_objects: rows,
        preview: [...preview],
        description: demoDescription,
      },
    });
  }
  await client.call(routes.createJob, { body: failing });
  await client.call(routes.createJob, { body: running });
  const { pipeline } = await client.call(routes.triggerPipeline, { body: { datasets: [place("revenue")] } });
  const { schedule } = await client.call(routes.createSchedule, {
    body: { schedule_name: demoSchedule, pipeline_name: pipeline.name, cron_expression: "30 2 * * *" },
  });
  // A new schedule has no active pipelines, so pausing it leaves the pipeline above alone.
  await client.call(routes.updateSchedule, { body: { schedule_id: schedule.id, pause_pipeline: true } });
}

const nameOf = ({ name, project }: ListedDataset) => `${project.namespace.name}.${project.name}.${name}`;
const isDemoName = (name: string) => lineage.some(({ dataset }) => dataset === name);

/** Whether the demo made this dataset. */
export const isDemoDataset = (dataset: ListedDataset): boolean =>
  isDemoName(nameOf(dataset)) && dataset.description === demoDescription;

/** Whether a pipeline rebuilds datasets of the demo and nothing else. */
const isDemoPipeline = ({ datasets }: Pick<Pipeline, "datasets">) =>
  datasets.length > 0 && datasets.every((name) => isDemoName(name.replace(/@[^@]*$/, "")));

/**
 * Removes the demo, however much of it there is: the schedule first, so that it starts nothing more, then what runs, then
 * the datasets. Ended jobs stay in the history, as all jobs do.
 */
export async function removeDemo(client: Client): Promise<void> {
  const schedules = await client.call(routes.listSchedules, { query: {} });
  for (const { id, schedule_name } of schedules)
    if (schedule_name === demoSchedule) await gone(client.call(routes.deleteSchedule, { body: { schedule_id: id } }));
  // The search finds every text that contains the name of the project, such as other projects.
  const live = { status: ["RUNNING", "PAUSED"], search: demoProject, limit: 100 };
  for (const pipeline of await allOf<Pipeline>(client, routes.listPipelines, live))
    if (isDemoPipeline(pipeline))
      await gone(client.call(routes.cancelPipeline, { body: { pipeline_id: pipeline.pipeline_id } }));
  const active = { tag: [demoTag], status: ["ACTIVE"], limit: 100 };
  for (const { id } of await allOf<Job>(client, routes.listJobs, active))
    await gone(client.call(routes.cancelJob, { params: { job_id: id }, body: {} }));
  const there = await client.call(routes.listDatasets, { query: { prefix: `${demoProject}.` } });
  const made = there.filter(isDemoDataset).map(nameOf);
  for (const { dataset } of lineage.toReversed())
    if (made.includes(dataset)) {
      // The description would stay for a dataset that the team makes under this name later.
      await gone(client.call(routes.editDataset, { body: { name: dataset, description: "" } }));
      await gone(client.call(routes.removeDataset, { body: { name: dataset, force: true } }));
    }
}

/** Reads all pages of a list. */
async function allOf<T>(client: Client, route: Route, query: Record<string, unknown>): Promise<T[]> {
  const found: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.request(route, { query: { ...query, ...(cursor && { cursor }) } } as never);
    found.push(...((await page.json()) as T[]));
    cursor = page.headers.get("x-next-cursor") ?? undefined;
    if (cursor === undefined) return found;
  }
}

/** Waits for a removal. That a thing has ended or is already gone does not matter. */
async function gone(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!(error instanceof ApiError && ["not_found", "wrong_state"].includes(error.code))) throw error;
  }
}
