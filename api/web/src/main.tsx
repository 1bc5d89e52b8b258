import { render } from "preact";
import { App } from "./app/app";
import { startKeys } from "./app/keys";
import { startSession } from "./app/session";
import { startTheme } from "./app/theme";
import "./style/base.css";
import "./style/captures.css";
import "./style/pages.css";
import "./style/shell.css";
import "./style/table.css";
import "./style/tools.css";

startTheme();
startKeys();
void startSession();
render(<App />, document.getElementById("app")!);
