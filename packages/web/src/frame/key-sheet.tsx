/** The list of keys. */
import type { ReactNode } from "react";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import "./palette.css";
import { placeLetters } from "./keys.ts";
import { places } from "./places.ts";

const general: readonly (readonly [readonly string[], string])[] = [
  [["Ctrl or ⌘", "K"], "Search and commands"],
  [["?"], "This list"],
  [["/"], "Search in the list"],
  [["n"], "New job"],
  [["Ctrl or ⌘", "Enter"], "Run the script of the editor"],
  [["Esc"], "Close a dialog; in the editor, let Tab move on"],
];

export default function KeySheet({ onClose }: { onClose: () => void }) {
  const lettered = places.filter(({ title }) => title in placeLetters);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="key-sheet">
        {general.map(([keys, meaning]) => (
          <Line key={meaning} keys={keys}>
            {meaning}
          </Line>
        ))}
        {lettered.map(({ title }) => (
          <Line key={title} keys={["g", placeLetters[title] ?? ""]}>
            {`Go to ${title}`}
          </Line>
        ))}
      </dl>
      <div className="foot row">
        <Button autoFocus onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

const Line = ({ keys, children }: { keys: readonly string[]; children: ReactNode }) => (
  <>
    <dt>
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{children}</dd>
  </>
);
