import { describeReaders } from '../readers/reader-suite.js';

/** ClickHouse is too large for every change: `bash test/readers/install-python.sh FOLDER requirements-long.txt`. */
describe('the page about reading exports, in ClickHouse', () => describeReaders(['clickhouse']));
