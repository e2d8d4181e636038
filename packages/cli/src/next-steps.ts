/** Maps each hint of an API error to a command. */
import type { ErrorHint } from "@millrace/contract";

export const commands: Readonly<Record<ErrorHint, string>> = {
  sign_in: "millrace auth login",
  create_token: "millrace token create NAME --scopes SCOPE",
  create_sign_in_link: "On the server's machine: millrace admin link",
  list_teams: "millrace team ls",
  list_members: "millrace team members",
  list_jobs: "millrace job ls",
  list_attempts: "millrace job show ID",
  list_tasks: "millrace task ls",
  list_datasets: "millrace dataset ls",
  list_pipelines: "millrace pipeline ls",
  list_runs: "millrace pipeline status NAME",
  list_schedules: "millrace schedule ls",
  list_backfills: "millrace backfill ls",
  list_webhooks: "millrace webhook ls",
  list_deliveries: "millrace webhook deliveries ID",
  list_notifications: "millrace notify ls",
  list_tokens: "millrace token ls",
  list_service_tokens: "millrace team service-tokens",
  remove_run: "millrace pipeline remove-job NAME ID",
  rerun_pipeline: "millrace pipeline rerun NAME",
  remove_versions: "millrace dataset rm NAME",
  set_credentials: "millrace credentials set NAME",
  add_member: "millrace team add-member USER",
  invite: "millrace team invite",
  set_role: "millrace team set-role USER ROLE",
  set_administrator: "millrace user set USER --admin",
  create_service_account: "millrace team add-service-account",
};

export const commandFor = (hint: ErrorHint | undefined): string | undefined => hint && commands[hint];
