/** The editor: write a script, choose settings, run it, and see its log beside the code. */
import { queryTypes, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { CopyAs, copyable } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Choice, TextField } from "../look/field.tsx";
import { otherError } from "../look/field-errors.ts";
import { languages } from "../look/language.ts";
import { Screen } from "../look/screen.tsx";
import { LoadError, Loading, Problem } from "../look/states.tsx";
import { CodeField } from "./code-field.tsx";
import { type Draft, inputOf } from "./draft.ts";
import "./editor.css";
import { runCommand } from "./run-command.ts";
import { RunPanel } from "./run-panel.tsx";
import { namedSettings, SettingsForm } from "./settings-form.tsx";
import { type DraftState, useDraft } from "./use-draft.ts";

/** No engine runs TypeScript yet, so it is not offered. */
const offered = queryTypes.filter((type) => type !== "TYPESCRIPT");

export default function EditorScreen() {
  const [from] = useUrlState("from");
  return <Editor key={from} />;
}

function Editor() {
  const state = useDraft();
  const [jobId, setJobId] = useUrlState("job");
  const { draft, change, error } = state;
  const runner = useRun(draft, setJobId);
  const title = draft?.from ? "Edit and rerun" : draft?.start === "cron" ? "New task" : "New job";
  if (!draft) return <Screen title="Edit and rerun">{error ? <LoadError error={error} /> : <Loading />}</Screen>;
  return (
    <Screen title={title} actions={<Actions state={state} runner={runner} />}>
      <div className="editor-columns">
        <div className="editor-code stack">
          <Head draft={draft} change={change} />
          <CodeField
            text={draft.query}
            type={draft.type}
            onText={(query) => change({ query })}
            onRun={() => void runner.run()}
          />
          <p className="small soft">Tab indents. Press Escape, then Tab, to leave the editor.</p>
          <Problem error={otherError(runner.error, namedSettings)} />
        </div>
        <div className="editor-settings stack">
          <h2>Settings</h2>
          <SettingsForm draft={draft} change={change} error={runner.error} />
        </div>
        <RunPanel jobId={jobId} />
      </div>
    </Screen>
  );
}

/** Runs the draft. An error leaves the draft as it is. */
function useRun(draft: Draft | undefined, onCreated: (id: string) => void) {
  const refusal = useRefusal("editor");
  const { mutateAsync, isPending } = useAction(routes.createJob);
  const [error, setError] = useState<unknown>();
  const run = async () => {
    if (!draft || isPending) return;
    try {
      if (refusal !== undefined) throw new Error(refusal);
      setError(undefined);
      const { id } = await mutateAsync({ body: inputOf(draft) });
      onCreated(id);
    } catch (reason) {
      setError(reason);
    }
  };
  return { run, error, refusal, busy: isPending };
}

const Head = ({ draft, change }: { draft: Draft; change: DraftState["change"] }) => (
  <div className="editor-head">
    <Choice label="Language" value={draft.type} onText={(type) => change({ type: type as Draft["type"] })}>
      {offered.map((type) => (
        <option key={type} value={type}>
          {languages[type]}
        </option>
      ))}
    </Choice>
    <TextField label="Name" placeholder="Optional" value={draft.name} onText={(name) => change({ name })} />
  </div>
);

const copyDraft = (draft: Draft) =>
  copyable(
    "Run",
    routes.createJob,
    () => ({ body: inputOf(draft) }),
    (team) => runCommand(team, draft),
  );

function Actions({ state, runner }: { state: DraftState; runner: ReturnType<typeof useRun> }) {
  const [asked, setAsked] = useState(false);
  const { draft, discard } = state;
  return (
    <>
      {draft && <CopyAs actions={[copyDraft(draft)]} />}
      <Button kind="bare" icon="bin" onClick={() => setAsked(true)}>
        Discard
      </Button>
      <Button
        kind="main"
        icon="play"
        title="Ctrl or ⌘ + Enter"
        refusal={runner.refusal}
        busy={runner.busy}
        onClick={() => void runner.run()}
      >
        {draft?.start === "now" ? "Run" : "Schedule"}
      </Button>
      {asked && (
        <AskFirst
          title="Discard the draft?"
          action="Discard it"
          busy={false}
          error={undefined}
          onConfirm={() => {
            setAsked(false);
            discard();
          }}
          onClose={() => setAsked(false)}
        >
          <p>
            {draft?.from
              ? "The script and settings of the job are loaded again."
              : "The script and all settings are emptied."}
          </p>
        </AskFirst>
      )}
    </>
  );
}
