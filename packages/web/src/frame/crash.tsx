/** Catches errors of a screen, so that the frame stays and says what happened. */
import { Component, type ReactNode } from "react";
import { LoadError } from "../look/states.tsx";

export class Crash extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <div className="screen">
        <LoadError error={this.state.error} retry={() => this.#again()} />
      </div>
    );
  }

  /** A chunk that is gone after an upgrade of the server needs the new page; so the whole page is loaded again. */
  #again(): void {
    window.location.reload();
  }
}
