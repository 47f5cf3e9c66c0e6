// Pages of charts and tables that are drawn already.

import { wireTables } from "./tables.js";

wireTables(() => {});
