/** Copies a text, and says so. */
import { useEffect, useState } from "react";
import { Button } from "./button.tsx";

export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await writeText(text);
    setCopied(true);
  };
  return (
    <Button kind="bare" icon={copied ? "check" : "copy"} onClick={() => void copy()} title={label} aria-label={label}>
      {children}
      <span className="hidden-text" role="status">
        {copied ? "Copied" : ""}
      </span>
    </Button>
  );
}

/** The clipboard of the browser needs HTTPS or localhost; on plain HTTP a hidden field and the old command do it. */
export async function writeText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** A command or a script to copy, as a block. The lines of a script never break: it scrolls sideways. */
export const Command = ({ text }: { text: string }) => (
  <div className="code row apart">
    {text.includes("\n") ? (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a script that is wider than the screen is scrolled with the keyboard
      <code className="script" tabIndex={0}>
        {text}
      </code>
    ) : (
      <code>{inWords(text)}</code>
    )}
    <CopyButton text={text} label="Copy the command" />
  </div>
);

/** A line breaks between words, not after the hyphens of an option. */
const inWords = (text: string) =>
  text.split(/(\s+)/).map((part, index) =>
    index % 2 === 1 ? (
      part
    ) : (
      <span key={index} className="word">
        {part}
      </span>
    ),
  );
