import { RemovalPolicy } from 'aws-cdk-lib';
import type { Settings } from './settings.ts';

/** Data outlives its stack if the setting `retainData` says so, unless the creation of the stack fails: then it goes, so that the creation can be repeated. */
export const removalPolicyOf = ({ retainData }: Settings): RemovalPolicy =>
  retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

/** Whether AWS refuses to delete the stack and its data. A first deployment leaves this out, because a failed creation could not be rolled back. */
export const isProtected = ({ retainData, unprotected }: Settings): boolean => retainData && !unprotected;
