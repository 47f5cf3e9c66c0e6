// Pages of tables, and of charts that are drawn already.

import { wireTables } from "./tables.js";

wireTables(() => {});
