/** Files that are attached to the job. They are uploaded when they are chosen. */
import { routes } from "@millrace/contract";
import { useId, useState } from "react";
import { clientOf } from "../api/client.ts";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { Problem } from "../look/states.tsx";
import type { DraftFile, DraftForm } from "./draft.ts";

export function FilesField({ draft: { files }, change }: DraftForm) {
  const id = useId();
  const { upload, waiting, error } = useUpload();
  const add = async (chosen: readonly File[]) => change({ files: [...files, ...(await upload(chosen))] });
  return (
    <div className="field">
      <label htmlFor={id}>Files</label>
      <input
        id={id}
        type="file"
        multiple
        onChange={(event) => {
          const chosen = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void add(chosen);
        }}
      />
      <ul className="draft-files">
        {files.map((file) => (
          <li key={file.id} className="row">
            <span className="cut">{file.name === "" ? `File ${file.id} of the earlier job` : file.name}</span>
            <Button
              kind="bare"
              icon="cross"
              aria-label={`Remove ${file.name || `file ${file.id}`}`}
              onClick={() => change({ files: files.filter((other) => other !== file) })}
            />
          </li>
        ))}
      </ul>
      {waiting > 0 && <p role="status" className="small soft">{`Uploading ${waiting} of the files`}</p>}
      <Problem error={error} />
    </div>
  );
}

/** Uploads files one after the other. Those that arrived before an error are kept. */
function useUpload() {
  const team = useTeam();
  const [waiting, setWaiting] = useState(0);
  const [error, setError] = useState<unknown>();
  const upload = async (chosen: readonly File[]): Promise<DraftFile[]> => {
    const done: DraftFile[] = [];
    setError(undefined);
    try {
      for (const [index, file] of chosen.entries()) {
        setWaiting(chosen.length - index);
        const { id, filename } = await clientOf(team).upload(routes.uploadFile, file, file.name);
        done.push({ id: String(id), name: filename });
      }
    } catch (reason) {
      setError(reason);
    }
    setWaiting(0);
    return done;
  };
  return { upload, waiting, error };
}
