/** The entry: applies the theme and shows the app. */
import "./look/tokens.css";
import "./look/base.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme } from "./look/theme.ts";

applyTheme();
const root = document.getElementById("app");
if (root) render(<App />, root);
