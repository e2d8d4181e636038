/** Questions and forms over the page, on the browser's own dialog: it traps the focus and closes with Escape. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "./button.tsx";
import "./dialog.css";
import { portal } from "./portal.ts";
import { Problem } from "./states.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/**
 * It stands at the end of the page, wherever it was opened: within a row of a table it would look like a part of the row,
 * and vanish with a column that a phone has no place for.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [page] = useState(() => document.getElementById("main") ?? document.body);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return portal(
    <dialog
      ref={element}
      className="dialog"
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div className="head row apart">
        <h2 id={heading}>{title}</h2>
        <Button kind="bare" icon="cross" aria-label="Close" onClick={onClose} />
      </div>
      {children}
    </dialog>,
    page,
  );
}

interface AskProps {
  readonly title: string;
  /** What will happen. */
  readonly children: ReactNode;
  /** The words of the button that does it. */
  readonly action: string;
  /** The words of the safe answer. */
  readonly keep?: string;
  /** `main` if it can be undone. */
  readonly kind?: "danger" | "main";
  readonly busy: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. The focus is on the safe answer. */
export const AskFirst = ({ keep = "Keep it", kind = "danger", ...ask }: AskProps) => (
  <Dialog title={ask.title} onClose={ask.onClose}>
    <div className="stack">
      <div className="prose">{ask.children}</div>
      <Problem error={ask.error} />
      <div className="foot row">
        <Button autoFocus onClick={ask.onClose}>
          {keep}
        </Button>
        <Button kind={kind} busy={ask.busy} onClick={ask.onConfirm}>
          {ask.action}
        </Button>
      </div>
    </div>
  </Dialog>
);
