import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct, IConstruct } from 'constructs';
import type { Admins } from './admins.ts';
import type { FileContext, Files } from './build.ts';
import type { Needs } from './endpoints/needs.ts';
import type { Permission } from './permission.ts';
import type { Settings } from './settings.ts';

export interface FeatureContext {
  settings: Settings;
  /** prefix of names that must be unique in the account and region */
  gateName: string;
  /** the stack's own key for data at rest (`customerManagedKey`), if it has one */
  dataKey: IKey | undefined;
  admins: Admins;
}

/** What a feature does in the synthesis; `Members`: what it adds to the gate as a construct. */
export interface FeatureStack<Members extends object = object> {
  /** The permissions of a function with these needs. */
  permissions?(needs: Needs): Permission[];
  /** Creates its resources; undefined if the settings exclude them. */
  create?(scope: Construct, context: FeatureContext): FeatureResources<Members> | undefined;
  /** Prepares the files beside the bundle of a function with these needs. */
  files?(context: FileContext): (needs: Needs) => Files;
}

/** A key whose own policy decides which functions may use it. */
export interface FeatureKey {
  key: IKey;
  isUser: (needs: Needs) => boolean;
  /** default: kms:Sign */
  action?: string;
}

export interface FeatureResources<Members extends object = object> {
  /** by {@link Permission.on} */
  arns?: Readonly<Record<string, string[]>>;
  /** the environment variables of a function with these needs */
  environment?(needs: Needs): Record<string, string>;
  /** those that sign have the names of `adopt` */
  keys?: Readonly<Record<string, FeatureKey>>;
  /** lets a function use its resources beyond the permissions of the function's role */
  admit?(needs: Needs, role: IRole): void;
  /** members of the gate as a construct */
  members?: Members;
  /** created only once the deployment has been approved */
  data?: readonly IConstruct[];
  /** reasons for wildcards in {@link arns} */
  wildcards?: Readonly<Record<string, string>>;
}
