#!/usr/bin/env python3
"""Deterministic input for both jobs: one JSON text per line.

  gen.py topic_db  N --out FILE [--seed S] [--procs P]    Maxwell change records of 46 tables, about 510 bytes each
  gen.py cart_add  N --out FILE [--seed S] [--procs P]    cart-add detail records, about 530 bytes each, over three event days

The lines depend on (kind, N, seed) only: each block of 50,000 lines has its own random stream, so any number of processes
gives the same bytes. N matters to cart_add alone: line i happens at start + i / N of the span. cart_add is at most one second
out of order, so nothing is late at a bound of two seconds.
"""
import argparse
import datetime
import os
import random
from multiprocessing import Pool

BLOCK_LINES = 50_000
DAYS_SPANNED = 3
USERS = 500_000

# Each line: table, weight (of the sum of all weights), columns. A column's values follow from its name, see column_text().
_TABLE_LINES = """
user_info 60 id login_name nick_name passwd name phone_num email head_img user_level birthday gender create_time operate_time status
sku_info 30 id spu_id price sku_name sku_desc weight tm_id category3_id sku_default_img is_sale create_time operate_time
spu_info 15 id spu_name description category3_id tm_id create_time operate_time
coupon_info 12 id coupon_name coupon_type condition_amount condition_num activity_id benefit_amount benefit_discount create_time range_type limit_num taken_count start_time end_time operate_time expire_time range_desc
activity_info 10 id activity_name activity_type activity_desc start_time end_time create_time operate_time
activity_rule 8 id activity_id activity_type condition_amount condition_num benefit_amount benefit_discount benefit_level create_time operate_time
base_trademark 6 id tm_name logo_url create_time operate_time
base_category3 5 id name category2_id create_time operate_time
base_province 2 id name region_id area_code iso_code iso_3166_2 create_time operate_time
base_region 2 id region_name create_time operate_time
order_info 130 id consignee consignee_tel total_amount order_status user_id payment_way delivery_address order_comment out_trade_no trade_body create_time operate_time expire_time process_status tracking_no parent_order_id img_url province_id activity_reduce_amount coupon_reduce_amount original_total_amount feight_fee refundable_time
order_detail 170 id order_id sku_id sku_name img_url order_price sku_num create_time source_type source_id split_total_amount split_activity_amount split_coupon_amount operate_time
cart_info 160 id user_id sku_id cart_price sku_num img_url sku_name is_checked create_time operate_time is_ordered order_time source_type source_id
order_status_log 80 id order_id order_status create_time operate_time
payment_info 60 id out_trade_no order_id user_id payment_type trade_no total_amount subject payment_status create_time callback_time callback_content operate_time
favor_info 40 id user_id sku_id spu_id is_cancel create_time operate_time
comment_info 40 id user_id nick_name head_img sku_id spu_id order_id appraise comment_txt create_time operate_time
order_detail_coupon 25 id order_id order_detail_id coupon_id coupon_use_id sku_id create_time operate_time
order_detail_activity 25 id order_id order_detail_id activity_id activity_rule_id sku_id create_time operate_time
coupon_use 25 id coupon_id user_id order_id coupon_status get_time using_time used_time expire_time create_time operate_time
order_refund_info 20 id user_id order_id sku_id refund_type refund_num refund_amount refund_reason_type refund_reason_txt refund_status create_time operate_time
refund_payment 10 id out_trade_no order_id sku_id payment_type trade_no total_amount subject refund_status create_time callback_time callback_content operate_time
user_address 10 id user_id province_id user_address consignee phone_num is_default create_time operate_time
sku_attr_value 5 id attr_id value_id sku_id attr_name value_name create_time operate_time
sku_sale_attr_value 5 id sku_id spu_id sale_attr_value_id sale_attr_id sale_attr_name sale_attr_value_name create_time operate_time
sku_image 5 id sku_id img_name img_url spu_img_id is_default create_time operate_time
ware_sku 5 id sku_id warehouse_id stock_num stock_name stock_locked create_time operate_time
activity_sku 3 id activity_id sku_id create_time operate_time
coupon_range 3 id coupon_id range_type range_id create_time operate_time
base_attr_info 2 id attr_name category_id category_level create_time operate_time
base_attr_value 2 id value_name attr_id create_time operate_time
base_category1 2 id name create_time operate_time
base_category2 2 id name category1_id create_time operate_time
base_dic 2 id dic_code dic_name parent_code create_time operate_time
base_frontend_param 2 id code delete_id create_time operate_time
base_sale_attr 2 id name create_time operate_time
cms_banner 2 id title image_url link_url sort create_time operate_time
financial_sku_cost 2 id sku_id sku_name busi_date is_lastest sku_cost create_time operate_time
promotion_pos 2 id pos_location pos_type promotion_type create_time operate_time
promotion_refer 2 id refer_name create_time operate_time
seckill_goods 2 id spu_id sku_id sku_name sku_default_img price cost_price create_time check_time status start_time end_time num stock_count sku_desc operate_time
spu_image 2 id spu_id img_name img_url create_time operate_time
spu_poster 1 id spu_id img_name img_url create_time operate_time
spu_sale_attr 1 id spu_id base_sale_attr_id sale_attr_name create_time operate_time
spu_sale_attr_value 1 id spu_id base_sale_attr_id sale_attr_value_name sale_attr_name is_checked create_time operate_time
ware_info 1 id name address areacode create_time operate_time
"""


def _parse_tables(text):
    tables = {}
    for line in text.strip().splitlines():
        name, weight, *columns = line.split()
        tables[name] = (float(weight), columns)
    return tables


TABLES = _parse_tables(_TABLE_LINES)

# How many rows a dimension table has, so that most of its changes touch a row that is there already.
ROWS = {
    "user_info": 500_000,
    "sku_info": 30_000,
    "spu_info": 8_000,
    "coupon_info": 2_000,
    "activity_info": 200,
    "activity_rule": 500,
    "base_trademark": 100,
    "base_category3": 1_149,
    "base_province": 34,
    "base_region": 7,
}
OTHER_ROWS = 5_000_000

FIRST_DAY = datetime.datetime(2022, 6, 1)
FIRST_SECOND = 1654012800  # 2022-06-01 00:00:00 +08:00
CLOCK = ["%02d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60) for s in range(86400)]
DAYS_BEFORE = 60
DAYS = [(FIRST_DAY + datetime.timedelta(d)).strftime("%Y-%m-%d ") for d in range(-DAYS_BEFORE, DAYS_BEFORE)]
WORDS = ("小米 华为 苹果 联想 索芙特 金沙河 香奈儿 十月稻田 手机 电视 轻薄本 口红 面条 大米 礼盒 旗舰 新品 八核 全网通 双卡双待 "
         "晨曦紫 亮黑色 陶瓷白 256GB 8GB+128GB 游戏智能 家用 长粒香 5kg 女士香水 东北大米 超高清 Redmi iPhone ThinkPad 🎁 Pro").split()
FAMILY_NAMES = "赵 钱 孙 李 周 吴 郑 王 冯 陈 褚 卫 蒋 沈 韩 杨 朱 秦 尤 许 何 吕 施 张 慕容 欧阳 上官".split()
GIVEN_NAMES = "伟 芳 娜 秀英 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 秀兰 霞 平 刚 桂英 思远 瑾春 飘育".split()


def stamp(second):
    """Seconds from FIRST_DAY as yyyy-MM-dd HH:mm:ss."""
    return DAYS[DAYS_BEFORE + second // 86400] + CLOCK[second % 86400]


def words(r, fewest, most):
    return " ".join(r.choices(WORDS, k=fewest + int(r.random() * (most - fewest + 1))))


def column_text(column, rows=OTHER_ROWS):
    """A column's name -> a function of a random stream that gives a value of the column as JSON text."""
    span = DAYS_SPANNED * 86400
    if column == "id":
        return lambda r: str(1 + int(r.random() * rows))
    if column == "operate_time":
        return lambda r: "null" if r.random() < 0.5 else '"%s"' % stamp(int(r.random() * span))
    if column.endswith("_time"):
        return lambda r: '"%s"' % stamp(int(r.random() * span))
    if column in ("birthday", "busi_date"):
        return lambda r: '"19%02d-%02d-%02d"' % (60 + r.random() * 40, 1 + r.random() * 12, 1 + r.random() * 28)
    if "amount" in column or "price" in column or "cost" in column or column in ("weight", "feight_fee"):
        return lambda r: "%.2f" % (r.random() * 10000)
    if column.endswith(("num", "count", "sort", "discount", "locked")) and column != "phone_num":
        return lambda r: str(int(r.random() * 200))
    if column.startswith("is_"):
        return lambda r: '"%d"' % (r.random() < 0.5)
    if column.endswith(("_id", "level")):
        return lambda r: "null" if r.random() < 0.02 else str(1 + int(r.random() * 100_000))
    if column.endswith(("img", "url", "image")):  # Maxwell writes a slash as it is, others escape it
        return lambda r: '"http:\\/\\/img.gmall.com\\/group1\\/M00\\/%02X\\/%08x.jpg"' % (
            int(r.random() * 256), int(r.random() * 2**32))
    if column.endswith(("_tel", "phone_num")):
        return lambda r: '"13%09d"' % (r.random() * 10**9)
    if column in ("name", "nick_name", "consignee"):
        return lambda r: '"%s%s"' % (r.choice(FAMILY_NAMES), r.choice(GIVEN_NAMES))
    if column == "login_name":
        return lambda r: '"u%07x"' % int(r.random() * 2**28)
    if column == "email":
        return lambda r: '"u%07x@gmail.com"' % int(r.random() * 2**28)
    if column == "passwd":
        return lambda r: "null"
    if column == "gender":
        return lambda r: r.choice(('"M"', '"F"', "null"))
    if column.endswith(("_no", "code", "iso_3166_2")):
        return lambda r: '"%015d"' % (r.random() * 10**15)
    if column.endswith(("type", "status", "way", "appraise")):
        return lambda r: '"%d"' % (1101 + r.random() * 400)
    if column.endswith(("txt", "comment", "desc", "description", "content", "body", "address")):
        # long texts, with what JSON has to escape
        return lambda r: '"%s\\n%s\\t\\"%s\\" \\u4e2d%d"' % (words(r, 2, 6), words(r, 1, 4), words(r, 1, 1), r.random() * 100)
    return lambda r: '"%s"' % words(r, 1, 5)  # names and titles


def topic_db(first, count, total, seed):
    """Lines first to first + count of topic_db."""
    r = random.Random("topic_db/%d/%d" % (seed, first))
    rnd = r.random
    names, cumulated, weight_sum = list(TABLES), [], 0.0
    for name in names:
        weight_sum += TABLES[name][0]
        cumulated.append(weight_sum)
    columns = {
        name: [('"%s":' % c, column_text(c, ROWS.get(name, OTHER_ROWS))) for c in TABLES[name][1]] for name in names
    }
    lines = []
    for i, table in zip(range(first, first + count), r.choices(names, cum_weights=cumulated, k=count)):
        ts, choice = FIRST_SECOND + i // 50, rnd()
        head = '{"database":"gmall","table":"%s","type":"' % table
        if choice < 0.002:
            kind = "start" if choice < 0.001 else "complete"
            lines.append('%sbootstrap-%s","ts":%d,"data":{}}' % (head, kind, ts))
            continue
        body = '"data":{%s}' % ",".join([key + text(r) for key, text in columns[table]])
        if choice < 0.08:
            lines.append('%sbootstrap-insert","ts":%d,%s}' % (head, ts, body))
            continue
        commit = '"commit":true' if rnd() < 0.6 else '"xoffset":%d' % (rnd() * 50)
        if choice < 0.42:  # one or two columns had another value before
            kind, own = "update", columns[table]
            changed = {1 + int(rnd() * (len(own) - 1)) for _ in (0, 1)}
            body += ',"old":{%s}' % ",".join(own[j][0] + own[j][1](r) for j in sorted(changed))
        else:
            kind = "delete" if choice < 0.45 else "insert"
        lines.append('%s%s","ts":%d,"xid":%d,%s,%s}' % (head, kind, ts, 2045 + i // 3, commit, body))
    return lines


CART_ADD = (
    '{"id":"%d","user_id":"%d","sku_id":"%d","sku_name":"%s","spu_id":"%d","tm_id":"%d","tm_name":"%s","category3_id":"%d",'
    '"category3_name":"%s","cart_price":"%.2f","sku_num":"%d","img_url":"http://img.gmall.com/sku/%d.jpg","is_checked":"1",'
    '"is_ordered":"0","order_time":null,"source_type":"24%02d","source_type_name":"%s","source_id":"%d","province_id":"%d",'
    '"channel":"%s","create_time":"%s","operate_time":%s,"ts":%d}'
)


def cart_add_line(r, number, second, user):
    """One cart-add record; its event time is `second` (from FIRST_DAY), by operate_time or, where that is null, create_time."""
    rnd = r.random
    if rnd() < 0.3:
        operated, created = '"%s"' % stamp(second), stamp(second - int(rnd() * 2 * 86400))
    else:
        operated, created = "null", stamp(second)
    sku = 1 + int(rnd() * 20000)
    return CART_ADD % (
        number, user, sku, words(r, 3, 7), sku // 7, sku % 40, WORDS[sku % 8], sku % 1100, WORDS[8 + sku % 6], rnd() * 9000,
        1 + rnd() * 5, sku, 1 + rnd() * 4, ("商品推广", "智能推荐", "促销活动", "用户查询")[int(rnd() * 4)], rnd() * 100,
        1 + rnd() * 34, ("Appstore", "xiaomi", "oppo", "web")[int(rnd() * 4)], created, operated,
        (FIRST_SECOND + second) * 1000 + (number - 1) % 1000)


def cart_add(first, count, total, seed):
    """Lines first to first + count of cart_add."""
    r = random.Random("cart_add/%d/%d" % (seed, first))
    span = DAYS_SPANNED * 86400
    lines = []
    for i in range(first, first + count):
        second = max(0, i * span // total - (r.random() < 0.3))
        user = 1 + int(USERS * r.random() ** 1.3)
        lines.append(cart_add_line(r, i + 1, second, user))
    return lines


KINDS = {"topic_db": topic_db, "cart_add": cart_add}


def _block(job):
    kind, *arguments = job
    return ("\n".join(KINDS[kind](*arguments)) + "\n").encode()


def write(kind, lines, path, seed=42, procs=None):
    jobs = [(kind, first, min(BLOCK_LINES, lines - first), lines, seed) for first in range(0, lines, BLOCK_LINES)]
    with open(path, "wb") as out, Pool(procs or os.cpu_count()) as pool:
        for block in pool.imap(_block, jobs):
            out.write(block)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", choices=list(KINDS))
    p.add_argument("lines", type=int)
    p.add_argument("--out", required=True)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--procs", type=int)
    a = p.parse_args()
    write(a.kind, a.lines, a.out, a.seed, a.procs)


if __name__ == "__main__":
    main()
