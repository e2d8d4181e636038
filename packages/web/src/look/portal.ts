/** Draws something in another place of the page. React has this in a package of its own, Preact in its core. */
import { createPortal } from "preact";
import type { ReactNode } from "react";

export const portal = createPortal as unknown as (content: ReactNode, into: Element) => ReactNode;
