/** The form that changes the name, description and attributes of a dataset. */
import { type Dataset, routes } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { Dialog } from "../look/dialog.tsx";
import { TextArea, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { datasetPath, fullNameOf, placeOf } from "../paths/dataset-paths.ts";

/** The attributes in a text with one in each line. */
const linesOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export function EditDataset({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
  const team = useTeam();
  const [, go] = useLocation();
  const edit = useAction(routes.editDataset);
  const [name, setName] = useState(dataset.name);
  const [description, setDescription] = useState(dataset.description ?? "");
  const [attributes, setAttributes] = useState(dataset.attrs.join("\n"));
  const save = () =>
    edit.mutate(
      { body: { name: fullNameOf(dataset), new_name: name.trim(), description, attrs: linesOf(attributes) } },
      {
        onSuccess: (changed) => {
          onClose();
          if (changed.name !== dataset.name) go(datasetPath(team, fullNameOf(changed)), { replace: true });
        },
      },
    );
  return (
    <Dialog title="Edit the dataset" onClose={onClose}>
      <Form action="Save" onSubmit={save} busy={edit.isPending} error={edit.error} onCancel={onClose}>
        <TextField
          label="Name"
          name="new_name"
          value={name}
          onText={setName}
          required
          maxLength={255}
          hint={`In ${placeOf(dataset)}. Scripts that read the old name fail after a change.`}
        />
        <TextArea label="Description" value={description} onText={setDescription} maxLength={65_536} />
        <TextArea
          label="Attributes"
          value={attributes}
          onText={setAttributes}
          hint="One in each line: a word, or name=value."
        />
      </Form>
    </Dialog>
  );
}
