/** Buttons, and links that look like buttons. */
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";
import "./button.css";
import { Icon, type IconName } from "./icon.tsx";

interface Looks {
  readonly kind?: "plain" | "main" | "danger" | "bare";
  readonly icon?: IconName;
  readonly children?: ReactNode;
}

interface ButtonProps extends Looks, Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children" | "disabled"> {
  /** Why the button does nothing now; undefined if it works. The button stays reachable, and says it. */
  readonly refusal?: string | undefined;
  /** True while the action is under way. */
  readonly busy?: boolean;
}

/** A button that is not allowed now is not disabled: it can be focused, and its title says why. */
export function Button({ kind = "plain", icon, children, refusal, busy = false, onClick, ...rest }: ButtonProps) {
  const stopped = refusal !== undefined || busy;
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind} ${rest.className ?? ""}`}
      aria-disabled={stopped || undefined}
      aria-busy={busy || undefined}
      title={refusal ?? rest.title}
      onClick={(event) => (stopped ? event.preventDefault() : onClick?.(event))}
    >
      {icon && <Icon name={icon} />}
      {children}
      {refusal !== undefined && <span className="hidden-text">{`. ${refusal}`}</span>}
    </button>
  );
}

interface LinkProps extends Looks {
  readonly href: string;
  /** Why the user may not go there; undefined if they may. */
  readonly refusal?: string | undefined;
}

export function ButtonLink({ kind = "plain", icon, children, href, refusal }: LinkProps) {
  const content = (
    <>
      {icon && <Icon name={icon} />}
      {children}
    </>
  );
  if (refusal !== undefined)
    return (
      <Button kind={kind} refusal={refusal}>
        {content}
      </Button>
    );
  return (
    <Link href={href} className={`button ${kind}`}>
      {content}
    </Link>
  );
}
