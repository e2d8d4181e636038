/** The field for the script: a code editor once it is loaded, a plain field until then or if it cannot be loaded. */
import type { QueryType } from "@millrace/contract";
import { useEffect, useRef, useState } from "react";
import type { CodeEditor } from "./code-mirror.ts";

interface CodeFieldProps {
  readonly text: string;
  readonly type: QueryType;
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
}

const label = "Script";

export function CodeField(props: CodeFieldProps) {
  const { text, type, onText } = props;
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<CodeEditor>();
  useEffect(() => {
    let opened: CodeEditor | undefined;
    let gone = false;
    const open = async () => {
      const { openCodeEditor } = await import("./code-mirror.ts");
      if (gone || !place.current) return;
      const options = { parent: place.current, text: latest.current.text, label };
      opened = openCodeEditor({
        ...options,
        onText: (typed) => latest.current.onText(typed),
        onRun: () => latest.current.onRun(),
      });
      setEditor(opened);
    };
    // Without the code editor, the plain field stays.
    open().catch(() => {});
    return () => {
      gone = true;
      opened?.destroy();
    };
  }, []);
  useEffect(() => editor?.setText(text), [editor, text]);
  useEffect(() => {
    // Without its colours, the text can still be edited.
    editor?.setType(type).catch(() => {});
  }, [editor, type]);
  return (
    <div className="code-field">
      {!editor && (
        <textarea
          aria-label={label}
          spellCheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
      <div ref={place} className="code-place" hidden={!editor} />
    </div>
  );
}
