/** The rows of the store. Times are ISO 8601 UTC text with milliseconds, so that text order is time order. */
import type { JobStatus, Role } from "@millrace/contract";
import type { Generated } from "kysely";

export interface Tables {
  users: { id: Generated<number>; username: string; first_name: string; last_name: string; created_at: string };
  teams: { id: Generated<number>; name: string; created_at: string };
  memberships: { team_id: number; user_id: number; role: Role };
  tokens: TokensTable;
  sessions: { hash: string; user_id: number; created_at: string; expires_at: string };
  sign_in_links: { hash: string; user_id: number; expires_at: string; used_at: string | null };
  device_logins: DeviceLoginsTable;
  clusters: ClustersTable;
  files: FilesTable;
  jobs: JobsTable;
  /** Jobs that wait for slots; a row lives from creation to claim. Small, so that dispatch never scans `jobs`. */
  queue: { job_id: string; cluster_id: number; priority: number; slots: number; passed_over: number };
  attempts: AttemptsTable;
  /** Jobs that fire others: when next. */
  tasks: { job_id: string; next_run: string; fired: number };
  idempotency_keys: { team_id: number; user_id: number; key: string; job_id: string };
}

interface TokensTable {
  id: Generated<number>;
  user_id: number;
  hash: string;
  name: string;
  /** JSON array of scopes. */
  scopes: string;
  /** JSON array of team ids; null: all teams of the user, also later ones. */
  team_ids: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
}

interface DeviceLoginsTable {
  device_hash: string;
  user_code: string;
  client_name: string;
  token_name: string;
  scopes: string;
  /** JSON array of names as asked for; null: all. */
  team_names: string | null;
  expires_in_days: number;
  status: "pending" | "approved" | "denied" | "used";
  /** Who approved, and how far that person's own rights reached. */
  user_id: number | null;
  granted_scopes: string | null;
  granted_team_ids: string | null;
  /** When the approving token ends: the new one ends no later. */
  granted_until: string | null;
  expires_at: string;
}

interface ClustersTable {
  id: Generated<number>;
  name: string;
  engine: string;
  isolation: "none" | "uid" | "bwrap";
  max_workers: number;
  is_active: number;
  is_default: number;
}

interface FilesTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  filename: string;
  size: number;
  sha256: string;
  /** Name of its bytes in the data folder. */
  blob: string;
  created_at: string;
  /** When a job first took it along; null: unused so far. */
  attached_at: string | null;
}

interface JobsTable {
  /** UUIDv7: order of ids is order of creation. */
  id: string;
  team_id: number;
  user_id: number;
  cluster_id: number;
  name: string | null;
  status: JobStatus;
  /** The fence: number of the newest attempt, 0 before the first. */
  attempt: number;
  /** What the job is: JSON of the fields that never change, in the words of the contract. Beside it, how it fares. */
  spec: string;
  /** As it came: NAME=VALUE lines. */
  environment: string;
  metrics: string;
  exit_code: number | null;
  error_message: string | null;
  error_stack: string | null;
  steps: string | null;
  parent_job_id: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

/** A row lives from the commit before the start to the acceptance of the result. */
interface AttemptsTable {
  job_id: string;
  attempt: number;
  cluster_id: number;
  slots: number;
  /** The data folder whose server runs it. */
  server_id: string;
  boot_id: string;
  created_at: string;
  /** When the first signal of a cancellation was sent. */
  signalled_at: string | null;
}
