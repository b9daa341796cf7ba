import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct, IConstruct } from 'constructs';
import type { Needs } from './endpoints/needs.ts';
import type { Permission } from './permission.ts';
import type { Settings } from './settings.ts';

export interface FeatureContext {
  settings: Settings;
  /** prefix of names that must be unique in the account and region */
  gateName: string;
  /** the stack's own key for data at rest (`customerManagedKey`), if it has one */
  dataKey: IKey | undefined;
}

/** What a feature does in the synthesis. */
export interface FeatureStack {
  /** The permissions of a function with these needs. */
  permissions(needs: Needs): Permission[];
  /** Creates its resources; undefined if the settings exclude them. */
  create(scope: Construct, context: FeatureContext): FeatureResources | undefined;
}

export interface FeatureResources {
  /** by {@link Permission.on} */
  arns: Readonly<Record<string, string[]>>;
  /** the environment variables of a function with these needs */
  environment(needs: Needs): Record<string, string>;
  /** its keys by the names that they have in `adopt`, and which functions may sign with each */
  keys?: Readonly<Record<string, { key: IKey; isSigner: (needs: Needs) => boolean }>>;
  /** members of the gate as a construct, which the feature declares by augmenting `Gate` */
  members?: object;
  /** created only once the deployment has been approved */
  data: readonly IConstruct[];
  /** reasons for wildcards in {@link arns} */
  wildcards?: Readonly<Record<string, string>>;
}
