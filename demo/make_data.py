#!/usr/bin/env python3
"""make_data.py [OUT_DIR]: writes the demo's input, always the same bytes, to OUT_DIR or demo/data:

  topic_db.jsonl       what Maxwell writes for a shop's database: 46 tables bootstrapped and then changed, DDL records,
                       tombstones and broken lines
  table_process.jsonl  the configuration stream in the Debezium shape: a snapshot of ten rows, then changes
  cart_add.jsonl       twenty minutes of additions to the cart around midnight: out of order, some late, some broken

demo/oracle.py computes what the jobs must make of them.
"""
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
import gen  # noqa: E402

CHANGES = 3_500
CART_ADDS = 3_000
CART_USERS = 400
START_SECOND = gen.FIRST_SECOND + 86_400 - 1_200  # 2022-06-01 23:40:00 +08:00
MIDNIGHT = 86_400  # seconds from gen.FIRST_DAY


def text(value):
    """A value as JSON text, Chinese as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ---- the shop's fixed rows: table -> (columns given, rows); the other columns are made up

REGIONS = "华北 华东 东北 华中 华南 西南 西北".split()
PROVINCES = """
北京 1 110000 CN-11 CN-BJ|天津 1 120000 CN-12 CN-TJ|山西 1 140000 CN-14 CN-SX|内蒙古 1 150000 CN-15 CN-NM|河北 1 130000 CN-13 CN-HE
上海 2 310000 CN-31 CN-SH|江苏 2 320000 CN-32 CN-JS|浙江 2 330000 CN-33 CN-ZJ|安徽 2 340000 CN-34 CN-AH|福建 2 350000 CN-35 CN-FJ
江西 2 360000 CN-36 CN-JX|山东 2 370000 CN-37 CN-SD|台湾 2 710000 CN-71 CN-TW|黑龙江 3 230000 CN-23 CN-HL|吉林 3 220000 CN-22 CN-JL
辽宁 3 210000 CN-21 CN-LN|陕西 7 610000 CN-61 CN-SN|甘肃 7 620000 CN-62 CN-GS|青海 7 630000 CN-63 CN-QH|宁夏 7 640000 CN-64 CN-NX
新疆 7 650000 CN-65 CN-XJ|河南 4 410000 CN-41 CN-HA|湖北 4 420000 CN-42 CN-HB|湖南 4 430000 CN-43 CN-HN|广东 5 440000 CN-44 CN-GD
广西 5 450000 CN-45 CN-GX|海南 5 460000 CN-46 CN-HI|香港 5 810000 CN-91 CN-HK|澳门 5 820000 CN-92 CN-MO|四川 6 510000 CN-51 CN-SC
贵州 6 520000 CN-52 CN-GZ|云南 6 530000 CN-53 CN-YN|重庆 6 500000 CN-50 CN-CQ|西藏 6 540000 CN-54 CN-XZ
"""
TRADEMARKS = "Redmi 苹果 华为 TCL 小米 长粒香 金沙河 索芙特 CAREMiLLE 欧莱雅 香奈儿 联想".split()
CATEGORY1 = "图书、音像 手机 家用电器 数码 家居家装 电脑办公 厨具 个护化妆 服饰内衣".split()
CATEGORY2 = "手机通讯 手机配件 大家电 厨卫大电 数码配件 电脑整机 外设产品 米面杂粮 香水彩妆 面部护肤".split()
CATEGORY3 = ("手机 平板电视 笔记本 游戏本 米面 口红 香水 面部清洁 耳机 手机壳 充电器 数据线 移动电源 空调 冰箱 洗衣机 烟机 灶具 "
             "路由器 键盘 鼠标 显示器 U盘 硬盘 墨盒 面霜 乳液 眼影 粉底 唇釉").split()
DICTIONARY = {"10": "单据状态", "1001": "未支付", "1002": "已支付", "1003": "已取消", "1004": "已完成", "1005": "退款中",
              "11": "支付状态", "1101": "支付宝", "1102": "微信", "1103": "银联", "24": "来源类型", "2401": "用户查询",
              "2402": "商品推广", "2403": "智能推荐", "2404": "促销活动"}
ACTIVITIES = ["小米手机专场", "联合利华满减折扣 🎉", "TCL全场9折", "女神节大促 💐"]


def fixed_rows():
    provinces = [p.split() for line in PROVINCES.strip().splitlines() for p in line.split("|")]
    return {
        "base_region": [{"region_name": name} for name in REGIONS],
        "base_province": [dict(name=n, region_id=int(r), area_code=a, iso_code=i, iso_3166_2=j)
                          for n, r, a, i, j in provinces],
        "base_trademark": [{"tm_name": name} for name in TRADEMARKS],
        "base_category1": [{"name": name} for name in CATEGORY1],
        "base_category2": [{"name": name, "category1_id": 1 + i % 9} for i, name in enumerate(CATEGORY2)],
        "base_category3": [{"name": name, "category2_id": 1 + i % 10} for i, name in enumerate(CATEGORY3)],
        "base_dic": [dict(dic_code=code, dic_name=name, parent_code=code[:2] if len(code) > 2 else None)
                     for code, name in DICTIONARY.items()],
        "activity_info": [{"activity_name": name} for name in ACTIVITIES],
        "activity_rule": [{"activity_id": 1 + i % 4} for i in range(8)],
        "spu_info": [{"category3_id": 1 + i % 30, "tm_id": 1 + i % 12} for i in range(24)],
        "sku_info": [dict(spu_id=1 + i % 24, tm_id=1 + i % 12, category3_id=1 + i % 30) for i in range(60)],
        "coupon_info": [{} for _ in range(10)],
        "user_info": [{} for _ in range(150)],
    }


# Of these tables the columns given above never change, and no row is added.
REFERENCE_TABLES = ("base_region", "base_province", "base_trademark", "base_category1", "base_category2", "base_category3", "base_dic")

# Values that a careless reader of JSON changes; the tables must hold them as they are written here.
AWKWARD = {
    ("coupon_info", 1): {"condition_amount": "20.00", "limit_num": "9007199254740993"},
    ("coupon_info", 2): {"condition_amount": "1E+2", "limit_num": "18446744073709551615"},
    ("sku_info", 1): {"weight": "0.10", "sku_desc": r'"轻薄\u5168面屏 \"小米\" 12 \uD83D\uDE80\n\/正品\/"'},
    ("user_info", 1): {"name": '"慕容💫"', "login_name": '"null"'},
    ("user_info", 2): {"name": '"O\'Brien; drop table dim_user_info --"', "gender": "null"},
    ("user_info", 3): {"name": '""'},
}


class Shop:
    """The rows of all tables, as column -> JSON text, and the records that Maxwell would write for their changes."""

    def __init__(self, r):
        self.r = r
        self.rows = {table: {} for table in gen.TABLES}
        self.columns = {table: list(columns) for table, (_, columns) in gen.TABLES.items()}
        self.lasting = {}  # reference table -> columns that never change
        self.lines = []
        self.xid = 2_045
        self.ts = START_SECOND

    def write(self, line):
        self.lines.append(line if isinstance(line, bytes) else line.encode())

    def new_row(self, table, given=()):
        number = max(self.rows[table], default=0) + 1
        row = {c: gen.column_text(c)(self.r) for c in self.columns[table]}
        row["id"] = str(number)
        row.update((c, text(v)) for c, v in dict(given).items())
        row.update(AWKWARD.get((table, number), {}))
        self.rows[table][number] = row
        return row

    @staticmethod
    def body(row):
        return "{%s}" % ",".join('"%s":%s' % item for item in row.items())

    def head(self, table, kind):
        return '{"database":"gmall","table":"%s","type":"%s","ts":%d' % (table, kind, self.ts)

    def bootstrap(self, table, given_rows):
        if table in REFERENCE_TABLES:
            self.lasting[table] = {"id", *given_rows[0]}
        self.write(self.head(table, "bootstrap-start") + ',"data":{}}')
        for given in given_rows:
            self.write(self.head(table, "bootstrap-insert") + ',"data":%s}' % self.body(self.new_row(table, given)))
        self.write(self.head(table, "bootstrap-complete") + ',"data":{}}')

    def change(self, table, place):
        """One random change. `place` is its part of a transaction: '"xoffset":N' or '"commit":true'."""
        rows, choice = self.rows[table], self.r.random()
        lasting = self.lasting.get(table)
        kind, old = "insert", ""
        if rows and (choice < 0.40 or lasting):
            kind = "update"
            row = rows[self.r.choice(sorted(rows))]
            free = [c for c in self.columns[table] if c not in (lasting or {"id"})]
            changed = self.r.sample(free, self.r.choice((1, 2)))
            old = ',"old":%s' % self.body({c: row.get(c, "null") for c in changed})
            row.update((c, gen.column_text(c)(self.r)) for c in changed)
        elif rows and choice < 0.45:
            kind = "delete"
            row = rows.pop(self.r.choice(sorted(rows)))
        else:
            row = self.new_row(table)
        self.write(self.head(table, kind) + ',"xid":%d,%s,"data":%s%s}' % (self.xid, place, self.body(row), old))

    def transaction(self, tables):
        self.xid += self.r.randint(1, 40)
        for offset, table in enumerate(tables):
            self.change(table, '"commit":true' if offset == len(tables) - 1 else '"xoffset":%d' % offset)

    def add_column(self, table, column):
        self.columns[table].append(column)
        for row in self.rows[table].values():
            row[column] = "null"


def ddl(shop, kind, sql, table=None, **more):
    """A DDL record; unlike a change's, its ts is in milliseconds and a database's has no table."""
    record = {"type": kind, "database": "gmall"}
    if table:
        record["table"] = table
    record.update(more, ts=shop.ts * 1000, sql=sql, position="mysql-bin.000004:%d" % (shop.xid * 97))
    shop.write(text(record))


def table_definition(table, columns):
    described = [{"type": "bigint", "name": "id", "signed": True}]
    described += [{"type": "varchar", "name": c, "charset": "utf8mb4"} for c in columns if c != "id"]
    return {"database": "gmall", "charset": "utf8mb4", "table": table, "columns": described, "primary-key": ["id"]}


def alter_trademark(shop):
    """base_trademark gets the column `name`: from now on its rows hold a column whose name is part of a configured one's."""
    before = table_definition("base_trademark", shop.columns["base_trademark"])
    shop.add_column("base_trademark", "name")
    after = table_definition("base_trademark", shop.columns["base_trademark"])
    ddl(shop, "table-alter", "alter table base_trademark add column name varchar(100)", "base_trademark", old=before, **{"def": after})
    shop.transaction(["base_trademark"] * 3)


def events(shop):
    """What happens besides changes: number of the change before which it happens -> action."""
    broken = shop.head("user_info", "insert")
    return {
        0: lambda: ddl(shop, "database-create", "create database if not exists gmall", charset="utf8mb4"),
        150: lambda: ddl(shop, "table-create", "create table user_info like user_info_old", "user_info",
                         **{"def": table_definition("user_info", ["id", "name"])}),
        400: lambda: shop.write(broken + ',"xid":9001,"commit":true,"data":{"id":9001,"login_name":"cut'),
        700: lambda: shop.write("null"),
        900: lambda: alter_trademark(shop),
        1200: lambda: shop.write((broken + ',"data":{"id":9002,"login_name":"').encode() + b'\xd0\xff\xfe"}}'),
        1500: lambda: shop.write("rebalancing"),
        1800: lambda: shop.write('[{"database":"gmall","table":"user_info","type":"insert"}]'),
        2100: lambda: shop.write('{"database":"gmall","type":"insert","ts":%d,"data":{"id":9003,"name":"无表"}}' % shop.ts),
        2400: lambda: shop.write(""),
        2500: lambda: ddl(shop, "table-drop", "drop table tmp_import", "tmp_import"),
        2700: lambda: shop.write(broken + ',"data":{"id":9004,"login_name":"two commas",,"name":"钱"}}'),
        3000: lambda: shop.write("null"),
    }


def topic_db():
    shop = Shop(random.Random("demo topic_db"))
    for table, given_rows in fixed_rows().items():
        shop.bootstrap(table, given_rows)
    tables = list(gen.TABLES)
    weights = [gen.TABLES[t][0] ** 0.7 for t in tables]  # flatter than the real thing: the small tables are seen as well
    due = events(shop)
    number = 0
    while number < CHANGES:
        first = tables[number: number + 1] if number < len(tables) else []  # each table is changed at least once
        chosen = first or shop.r.choices(tables, weights, k=shop.r.choice((1, 1, 1, 2, 3, 4)))
        for at in [n for n in due if n <= number]:
            due.pop(at)()
        shop.transaction(chosen)
        number += len(chosen)
        shop.ts = START_SECOND + number * 2_400 // CHANGES
    assert not due
    return shop.lines


# ---- configuration stream

def config_record(op, before, after, number):
    source = {"version": "1.9.7.Final", "connector": "mysql", "name": "mysql_binlog_source", "ts_ms": START_SECOND * 1000,
              "snapshot": "false", "db": "gmall_config", "sequence": None, "table": "table_process", "server_id": 0 if op == "r" else 1,
              "gtid": None, "file": "" if op == "r" else "mysql-bin.000004", "pos": 0 if op == "r" else 1_000 * number, "row": 0,
              "thread": None, "query": None}
    return text({"before": before, "after": after, "source": source, "op": op, "ts_ms": START_SECOND * 1000 + number,
                 "transaction": None}).encode()


def config_row(source_table, columns, key="", extend=""):
    return {"source_table": source_table, "sink_table": "dim_" + source_table, "sink_columns": columns, "sink_pk": key,
            "sink_extend": extend}


def table_process():
    with open(HERE.parent / "bench" / "dim_config.jsonl", encoding="utf-8") as f:
        snapshot = [json.loads(line) for line in f]
    trademark = next(row for row in snapshot if row["source_table"] == "base_trademark")
    dictionary = config_row("base_dic", "dic_code,dic_name,parent_code", "dic_code")
    changes = [("r", None, row) for row in snapshot] + [
        ("u", trademark, dict(trademark, sink_columns="id,tm_name,logo_url")),
        ("c", None, config_row("order_info", "", "id")),  # no columns: of no use, for the dead letters
        ("c", None, dictionary),
        ("d", dictionary, None),
    ]
    return [config_record(*change, number) for number, change in enumerate(changes)]


# ---- additions to the cart

BROKEN_CART_ADDS = {
    300: b'{"id":"90001","user_id":"7","create_time":"2022-06-01 23:52:00","operate_ti',
    600: b"null",
    800: b"cart",
    1000: b'{"id":"90002","user_id":"8","create_time":null,"operate_time":null}',
    1300: b'{"id":"90003","user_id":"9","create_time":"2022-06-02 25:61:00","operate_time":null}',
    1600: b'{"id":"90004","create_time":"2022-06-02 00:00:40","operate_time":null}',
    1900: b'{"id":"90005","user_id":"10","sku_name":"\xe5\xb0","create_time":"2022-06-02 00:02:40","operate_time":null}',
    2200: b"",
    2500: b'{"id":"90006","user_id":"11","create_time":"9999-12-31 23:59:59","operate_time":null}',
}
LATE_BY_SECONDS = {450: 40, 900: 75, 1450: 30, 1505: 120, 1800: 45, 2000: 90, 2450: 33, 2900: 61}


def cart_add():
    r = random.Random("demo cart_add")
    lines = []
    for i in range(CART_ADDS):
        if i in BROKEN_CART_ADDS:
            lines.append(BROKEN_CART_ADDS[i])
        newest = MIDNIGHT - 600 + i * 1_200 // CART_ADDS
        second = newest - LATE_BY_SECONDS.get(i, r.choice((0, 0, 0, 1, 2)))
        # a late record counts only where it is the first of its user's day: users of their own
        user = 10_000 + i if i in LATE_BY_SECONDS else 1 + int(CART_USERS * r.random() ** 1.3)
        line = gen.cart_add_line(r, i + 1, second, user)
        if i % 500 == 250:  # a producer that leaves out what it does not know
            line = line.replace('"operate_time":null,', "")
        lines.append(line.encode())
    return lines


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data"
    out.mkdir(parents=True, exist_ok=True)
    for name, lines in (("topic_db", topic_db()), ("table_process", table_process()), ("cart_add", cart_add())):
        (out / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


if __name__ == "__main__":
    main()
