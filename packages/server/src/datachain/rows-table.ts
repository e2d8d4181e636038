/** The dataset version whose rows a table of the warehouse contains. */
export interface RowsOf {
  readonly namespace: string;
  readonly project: string;
  readonly name: string;
  readonly version: string;
}

/** Returns the name that the datachain library gives to the table with the rows of a dataset version. */
export const rowsTable = ({ namespace, project, name, version }: RowsOf) =>
  `ds_${namespace}_${project}_${name}_${version.replaceAll(".", "_")}`;
