/**
 * Keeps an engine open for each cluster, and the loops of each cluster running. The table of clusters is the truth: a
 * cluster that is added, changed or removed while the server runs is opened, opened again or closed.
 */

import { localEngine } from "@millrace/contract";
import type { Logger } from "pino";
import { allOptions, secretsOf } from "../domain/jobs/managed-clusters.ts";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import type { Engine } from "../engines/engine.ts";
import type { EngineSurroundings, Engines, OpenEngine } from "../engines/registry.ts";
import { type Loop, startLoop } from "../loops/loop.ts";
import type { Store } from "../store/drivers/store.ts";
import { allClusters, type ClusterRow } from "../store/queries/jobs/clusters.ts";
import { asServer } from "../turns/asker.ts";

interface ClusterEnginesOptions {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly log: Logger;
  readonly engines: Engines;
  /** Opens an engine of each kind. */
  readonly kinds: Readonly<Record<string, OpenEngine>>;
  readonly surroundings: (cluster: number) => EngineSurroundings;
}

interface Opened {
  readonly engine: Engine;
  /** The settings with which the engine was opened. */
  readonly settings: string;
  stopLoops(): Promise<unknown>;
}

type LoopsOf = (cluster: ClusterRow) => Loop[];

const settingsOf = ({ name, engine, options, secrets }: ClusterRow) => JSON.stringify([name, engine, options, secrets]);

export class ClusterEngines {
  readonly #options: ClusterEnginesOptions;
  readonly #opened = new Map<number, Opened>();
  /** Clusters whose engine could not be opened, with the settings that were tried. */
  readonly #failed = new Map<number, string>();
  #loopsOf: LoopsOf | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: ClusterEnginesOptions) {
    this.#options = options;
  }

  /** Opens and closes engines as the table of clusters says. Calls run one after another. */
  keep = (): Promise<void> => this.#inTurn(() => this.#keep());

  /** Starts the loops of the clusters, now and for clusters that come later. */
  begin(loopsOf: LoopsOf): Promise<void> {
    return this.#inTurn(async () => {
      this.#loopsOf = loopsOf;
      // Engines that were opened without loops get them now.
      for (const id of [...this.#opened.keys()]) await this.#close(id);
      await this.#keep();
    });
  }

  stop(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isStopped = true;
      for (const id of [...this.#opened.keys()]) await this.#close(id);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    // A request may have caused this, and what it opens outlives the request.
    const turn = asServer(() => this.#turn.catch(() => {}).then(work));
    this.#turn = turn;
    return turn;
  }

  async #keep(): Promise<void> {
    if (this.#isStopped) return;
    const rows = (await allClusters(this.#options.store.db)).filter(
      ({ engine, is_active }) => engine !== localEngine && is_active === 1,
    );
    const wanted = new Map(rows.map((row) => [row.id, row]));
    for (const [id, { settings }] of [...this.#opened]) {
      const row = wanted.get(id);
      if (row === undefined || settingsOf(row) !== settings) await this.#close(id);
    }
    for (const row of rows) if (!this.#opened.has(row.id)) await this.#open(row);
  }

  async #open(row: ClusterRow): Promise<void> {
    const { engines, kinds, keys, surroundings, log } = this.#options;
    const open = kinds[row.engine];
    if (open === undefined) return;
    const settings = settingsOf(row);
    try {
      const cluster = { options: allOptions(row), secrets: secretsOf(keys, row) };
      const engine = await open({ ...surroundings(row.id), ...cluster });
      engines.add(row.id, engine);
      const stops = (this.#loopsOf?.(row) ?? []).map((loop) => startLoop(loop, log));
      this.#opened.set(row.id, { engine, settings, stopLoops: () => Promise.all(stops.map((stop) => stop())) });
      this.#failed.delete(row.id);
    } catch (error) {
      if (this.#failed.get(row.id) !== settings)
        log.error({ err: error, cluster: row.name }, "could not open the cluster; its jobs wait");
      this.#failed.set(row.id, settings);
    }
  }

  async #close(id: number): Promise<void> {
    const opened = this.#opened.get(id);
    if (!opened) return;
    const stopped = opened.stopLoops();
    // Before the loops are waited for: it ends their calls, which a cluster may never answer.
    await opened.engine.close();
    await stopped;
    this.#options.engines.remove(id);
    this.#opened.delete(id);
  }
}
